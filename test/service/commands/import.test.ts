// `notes-server import` into what holds something already, from a break or of its own; and the ends of what it takes.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type CommandParts, type Ending, LAUNCHER, runCommand } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';

const NOTE = { title: 'a', body: 'b' };

/** The second of these is wrong; when the first is read the notes before them are added. */
const TAGS = '{"type":"tag","id":1,"name":"t"}\n{"type":"tag","id":2,"name":" "}\n';

/** Returns an export that holds notes with these ids, with the last ids in its first line. */
function linesOf(ids: readonly number[], lastIds = {}): string {
  const head = { type: 'notes-server', version: 1, counts: { notes: ids.length }, last_ids: lastIds };
  const notes = ids.map((id) => ({ type: 'note', id, title: `title ${id}`, body: 'b' }));
  return [head, ...notes, { type: 'end', records: ids.length }].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns the lines without the last one: an import of them is not finished. */
const brokenOff = (lines: string): string => lines.replace(/.*\n$/, '');

const imported = (t: TestContext, db: string, input: CommandParts['input'] = ''): Promise<Ending> =>
  runCommand(t, ['import', '--db', db], { input });

/** Asserts that the command failed, and said in its last line why. */
function assertFailed({ status, stdout, stderr }: Ending, reason: RegExp): void {
  assert.match(stderr.split('\n').at(-2) ?? '', /^notes-server: cannot import /);
  assert.match(stderr, reason);
  assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
}

test('an import that broke off is finished by the same lines, and by no others', async (t) => {
  const [db, lines] = [newFile(t), linesOf([1, 2, 3])];
  assertFailed(await imported(t, db, brokenOff(lines) + TAGS), /line 6: name must not be blank/);
  for (const other of [linesOf([7]), linesOf([])]) {
    assertFailed(
      await imported(t, db, other),
      /an import of another file into it was not finished: run that one again first$/m,
    );
    assert.match((await runCommand(t, ['--port', '0', '--db', db])).stderr, /an import into it was not finished/);
  }
  assert.equal((await imported(t, db, lines)).status, 0);
  assert.equal((await imported(t, db, linesOf([7]))).status, 0);
  const { request } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, 4);
});

test('a file in which a line is wrong or in the way adds nothing to what holds something', async (t) => {
  const db = newFile(t);
  const service = await startService(t, { db });
  for (let count = 0; count < 3; count += 1) await service.request('POST', '/notes', { json: NOTE });
  await service.request('DELETE', '/notes/1');
  await service.request('DELETE', '/notes/2');
  await service.close();
  const file = join(temporaryFolder(t), 'notes.jsonl');
  for (const [lines, reason] of [
    [linesOf([1, 2, 3]), /line 4: another note has the id 3 already$/m],
    [brokenOff(linesOf([1, 2])), /the last line is missing/],
    [brokenOff(linesOf([1, 2])) + TAGS, /line 5: name must not be blank/],
  ] as const) {
    writeFileSync(file, lines);
    assertFailed(await runCommand(t, ['import', file, '--db', db]), reason);
    const { request, close } = await startService(t, { db });
    assert.equal((await request('GET', '/notes')).json.total, 1);
    await close();
  }
  writeFileSync(file, linesOf([1, 2]));
  assert.match((await runCommand(t, ['import', file, '--db', db])).stdout, /; 2 were not there before$/m);
});

test('a file that can be read only once is imported as it comes', async (t) => {
  const [db, folder] = [newFile(t), temporaryFolder(t)];
  assert.equal((await imported(t, db, linesOf([7]))).status, 0);
  const pipe = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const run = runCommand(t, ['import', pipe, '--db', db]);
  const writer = spawn('sh', ['-c', 'cat > "$0"', pipe], { stdio: ['pipe', 'ignore', 'inherit'] });
  const closed = once(writer, 'close');
  writer.stdin.end(linesOf([1, 2]));
  assert.match((await run).stdout, /; 2 were not there before$/m);
  await closed;
});

test('no id is taken after which others could not be told apart', async (t) => {
  const [largest, beyond] = [2 ** 52, 2 ** 52 + 1];
  for (const [lines, reason] of [
    [linesOf([beyond]), /line 2: id must be a whole number from 1 to 4503599627370496$/m],
    [linesOf([], { tags: beyond }), /line 1: last_ids must be whole numbers from 0 to 4503599627370496 by /],
  ] as const) {
    assertFailed(await imported(t, newFile(t), lines), reason);
  }
  const db = newFile(t);
  assert.equal((await imported(t, db, linesOf([largest], { tags: largest }))).status, 0);
  const { request } = await startService(t, { db });
  for (let id = largest + 1; id < largest + 4; id += 1) {
    assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, id);
    assert.equal((await request('POST', '/tags', { json: { name: 'a' } })).json.id, id);
  }
});

test('where there is nothing to import no database is made', async (t) => {
  const db = newFile(t);
  for (const ending of [
    await runCommand(t, ['import', join(temporaryFolder(t), 'missing'), '--db', db]),
    await imported(t, db),
    await imported(t, db, '{"type":"note"}\n'),
  ]) {
    assertFailed(ending, /ENOENT|there is nothing in it|it is no export of notes-server/);
  }
  assert.deepEqual(readdirSync(dirname(db)), []);
});

test('values of a kind that nobody expects are told as what they are, and not quoted', async (t) => {
  const lines = linesOf([1]);
  const long = `"${'9'.repeat(5_000)}"`;
  for (const [input, reason] of [
    [lines.replace('"title 1"', '{"toString":1}'), /line 2: title must be string\.$/m],
    [lines.replace('"title 1"', '[[[]]]'), /line 2: title must be string\.$/m],
    [lines.replace('"version":1', `"version":${long}`), /line 1: it has no version that is a number; /],
    [lines.replace('"records":1', `"records":${long}`), /line 3: .* the last no number, and there are 1$/m],
  ] as const) {
    const ending = await imported(t, newFile(t), input);
    assertFailed(ending, reason);
    assert.ok(ending.stderr.length < 500, ending.stderr);
  }
});

const SCRIPT = '/usr/bin/script';

test('on a terminal the reason stands in a line of its own, in the place of the bar', (t) => {
  if (!existsSync(SCRIPT)) return skipLoudly(t, `there is no ${SCRIPT} (of util-linux) to make a terminal`);
  const [db, file] = [newFile(t), join(temporaryFolder(t), 'notes.jsonl')];
  writeFileSync(file, linesOf([1, 1]));
  const line = `${process.execPath} ${LAUNCHER} import ${file} --db ${db}`;
  const { stdout, status } = spawnSync(SCRIPT, ['-qfec', line, '/dev/null'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(
    stdout.replaceAll('\u001b', '^'),
    /\^\[Kimported \[-+\] 0 % of 2[^\n]*\r\^\[Knotes-server: cannot import [^\n]+\n$/,
  );
});
