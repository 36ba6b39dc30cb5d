<?php
// The client that openapi-generator generates, used against the service whose URL is the argument.
// Guzzle comes from Debian's packages, which load without Composer.
declare(strict_types=1);

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $path = str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class);
    if (is_file($file = __DIR__ . "/lib/$path.php")) require $file;
});

use OpenAPI\Client\Api\{ChangesApi, DocumentationApi, NotesApi};
use OpenAPI\Client\{ApiException, Configuration};
use OpenAPI\Client\Model\{NoteInput, NotePatch};

const LARGE = 5_000_000_000;

function check(bool $isRight, mixed $seen): void
{
    if (!$isRight) throw new Error(print_r($seen, true));
}

/** Returns the problem with which the service answers the call. */
function problem(int $status, callable $call): object
{
    try {
        $call();
    } catch (ApiException $error) {
        check($error->getCode() === $status, $error->getMessage());
        return $error->getResponseObject();
    }
    throw new Error("there is no problem $status");
}

$host = (new Configuration())->setHost($argv[1]);
$notes = new NotesApi(null, $host);
$changes = new ChangesApi(null, $host);
$documentation = new DocumentationApi(null, $host);
$start = $changes->listChanges()->getNext();

// It sends the default offset, too.
$spaced = $notes->listNotes(after: 0)->getItems()[0];
check($spaced->getId() === LARGE && $spaced->getTitle() === ' starts with a space', $spaced);

$plain = $notes->createNote(new NoteInput(['title' => 'from PHP', 'body' => 'body']));
check($plain->getId() > LARGE && $plain->getTitle() === 'from PHP', $plain);
$input = new NoteInput(['title' => 'tagged', 'body' => 'body', 'tags' => ['php', 'home']]);
[$tagged, , $headers] = $notes->createNoteWithHttpInfo($input);
$id = $tagged->getId();

$patch = new NotePatch(['title' => 'changed from PHP']);
$patched = $notes->patchNote($id, $patch, if_match: $headers['etag'][0]);
check($patched->getTitle() === 'changed from PHP', $patched);
$read = $notes->getNote($id, include: ['tags']);
check($read->getTags() === ['php', 'home'] && $read->getBody() === 'body', $read);
$found = $notes->listNotes(after: LARGE, tag: ['php', 'home'])->getItems();
check(end($found)->getId() === $id, $found);

$outdated = problem(412, fn() => $notes->patchNote($id, $patch, if_match: $headers['etag'][0]));
check(str_ends_with($outdated->getType(), '/problems/precondition-failed'), $outdated);
check(problem(404, fn() => $notes->getNote(42))->getStatus() === 404, 'a note that is missing');
$blank = new NoteInput(['title' => ' ', 'body' => 'b']);
$violation = problem(422, fn() => $notes->createNote($blank))->getErrors()[0];
check($violation->getPointer() === '#/title' && $violation->getIn() === 'body', $violation);
$violation = problem(422, fn() => $notes->listNotes(order: 'no order'))->getErrors()[0];
check($violation->getField() === 'order' && $violation->getPointer() === null, $violation);

$page = $changes->listChanges($start, include: ['record']);
check($page->getItems()[0]->getNoteId() === $plain->getId(), $page);
check(count($documentation->listProblems()->getItems()) > 10, 'the list of problems');
check($documentation->getProblem('not-found')->getStatus() === 404, 'the problem not-found');
check(str_starts_with($documentation->getOpenapi()->getOpenapi(), '3.1'), 'the contract');

$name = 'PHP/Küche & Bad 100%#1?.md';
$put = $notes->putNamedNote($name, new NoteInput(['title' => 'named', 'body' => 'body']));
$named = $notes->getNamedNote($name, include: ['name']);
check($named->getId() === $put->getId() && $named->getName() === $name, $named);
