import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter } from '../../src/http/router.ts';

const route = (method: string, template: string) => ({ method, template, name: `${method} ${template}` });

/** Returns a function that says which template a path finds and with which values. */
function finder(...templates: string[]) {
  const router = createRouter(templates.map((template) => route('GET', template)));
  return (...segments: string[]) => {
    const match = router(segments);
    return match && [match.place.template, ...match.values];
  };
}

test('a path finds its template and the values of its parameters, in order', () => {
  const find = finder('/', '/notes', '/notes/{note_id}', '/notes/{note_id}/comments/{comment_id}');
  assert.deepEqual(find(''), ['/']);
  assert.deepEqual(find('notes'), ['/notes']);
  assert.deepEqual(find('notes', '7'), ['/notes/{note_id}', '7']);
  assert.deepEqual(find('notes', '7', 'comments', '8'), ['/notes/{note_id}/comments/{comment_id}', '7', '8']);
  assert.deepEqual(find('notes', 'a/b%'), ['/notes/{note_id}', 'a/b%']);
});

test('a path that is shorter, longer or other than every template finds nothing', () => {
  const find = finder('/notes', '/notes/{note_id}', '/notes/{note_id}/comments/{comment_id}');
  for (const path of [
    '',
    '/',
    'Notes',
    'note',
    'notess',
    'notes/7/comments',
    'notes/7/other/8',
    '{note_id}',
    'notes/7/8',
  ]) {
    assert.equal(find(...path.split('/')), undefined, path);
  }
  assert.equal(find(), undefined);
});

test('an empty segment is no value, and a trailing slash is another path', () => {
  const find = finder('/notes', '/notes/{note_id}', '/notes/{note_id}/comments');
  for (const segments of [
    ['notes', ''],
    ['', 'notes'],
    ['notes', '7', ''],
    ['notes', '', 'comments'],
  ]) {
    assert.equal(find(...segments), undefined, segments.join('/'));
  }
});

test('a fixed segment comes before a parameter, in whatever order they were declared', () => {
  for (const templates of [
    ['/docs/{asset}', '/docs/page'],
    ['/docs/page', '/docs/{asset}'],
  ]) {
    const find = finder(...templates);
    assert.deepEqual(find('docs', 'page'), ['/docs/page']);
    assert.deepEqual(find('docs', 'other'), ['/docs/{asset}', 'other']);
  }
});

test('a fixed segment that leads nowhere is tried as a value, and wrong turns leave no values behind', () => {
  const find = finder('/a/b/c', '/a/{x}/d', '/{y}/b/{z}/e', '/{y}/{w}/{z}');
  assert.deepEqual(find('a', 'b', 'c'), ['/a/b/c']);
  assert.deepEqual(find('a', 'b', 'd'), ['/a/{x}/d', 'b']);
  assert.deepEqual(find('a', 'b', 'f', 'e'), ['/{y}/b/{z}/e', 'a', 'f']);
  assert.deepEqual(find('a', 'b', 'f'), ['/{y}/{w}/{z}', 'a', 'b', 'f']);
  assert.equal(find('a', 'b', 'f', 'g'), undefined);
});

test('names that objects inherit are ordinary segments', () => {
  const find = finder('/notes/{note_id}', '/__proto__');
  assert.deepEqual(find('__proto__'), ['/__proto__']);
  for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(find(name), undefined);
    assert.deepEqual(find('notes', name), ['/notes/{note_id}', name]);
  }
});

test('the place of a path knows its methods, HEAD wherever there is GET, and lists them for allow', () => {
  const router = createRouter([
    route('GET', '/notes'),
    route('POST', '/notes'),
    route('DELETE', '/notes/{note_id}'),
    route('POST', '/run'),
  ]);
  const place = (path: string) => router(path.split('/'))?.place;
  assert.equal(place('notes')?.allow, 'GET, HEAD, POST, OPTIONS');
  assert.equal(place('notes/1')?.allow, 'DELETE, OPTIONS');
  assert.equal(place('run')?.allow, 'POST, OPTIONS');
  assert.equal(place('notes')?.methods.get('HEAD')?.name, 'GET /notes');
  assert.equal(place('notes')?.methods.get('POST')?.name, 'POST /notes');
  assert.equal(place('notes')?.methods.get('get'), undefined);
  assert.equal(place('run')?.methods.has('HEAD'), false);
});

test('two routes with one method and path are an error, whatever their parameters are called', () => {
  assert.throws(() => createRouter([route('GET', '/a'), route('GET', '/a')]), /two routes for GET \/a/);
  assert.throws(() => createRouter([route('GET', '/a/{x}'), route('GET', '/a/{y}')]), /two routes/);
});
