// The commands on databases and exports of version 1, in which records have no numbers and times,
// and notes no tags.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { migrate } from '../../../src/storage/schema/migrations.ts';
import { STEPS } from '../../../src/storage/schema/steps.ts';
import {
  change,
  newFile,
  openDatabase,
  openEmpty,
  rows,
  writeForeignFile,
} from '../../support/databases.ts';
import { notesIn } from '../../support/filled.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';

/** The lines of {@link olderFile} as version 1 exported them. */
const LINES = [
  '{"type":"note","id":1,"title":"a","body":"b"}',
  '{"type":"note","id":3,"title":"c","body":"d"}',
  '{"type":"tag","id":1,"name":"t"}',
  '{"type":"comment","id":1,"note_id":3,"body":"e"}',
  '{"type":"end","records":4}\n',
];
const HEAD =
  '{"type":"notes-server","version":1,"counts":{"notes":2,"tags":1,"comments":1},' +
  '"last_ids":{"comments":1,"notes":3,"tags":1}}';
const EXPORT = [HEAD, ...LINES].join('\n');
const COUNTS = '2 notes, 1 tag, 1 comment';

/** The numbers that records get, in the order in which they are stored or read. */
const NUMBERED = [
  { type: 'note', id: 1, number: 1, created_at: null, updated_at: null },
  { type: 'note', id: 3, number: 2, created_at: null, updated_at: null },
  { type: 'tag', id: 1, number: 3, created_at: null, updated_at: null },
  { type: 'comment', id: 1, number: 4, created_at: null, updated_at: null },
];

/** Returns a file of version 1 with two notes, a tag and a comment. */
async function olderFile(t: TestContext): Promise<string> {
  const path = newFile(t);
  const database = await openEmpty(t, path);
  await migrate(database, STEPS.slice(0, 1));
  for (const sql of [
    `INSERT INTO notes (title, body) VALUES ('a', 'b'), ('gone', 'b'), ('c', 'd')`,
    'DELETE FROM notes WHERE id = 2',
    `INSERT INTO tags (name) VALUES ('t')`,
    `INSERT INTO comments (note_id, body) VALUES (3, 'e')`,
  ])
    await change(database, sql);
  await database.close();
  return path;
}

const copy = async (from: string, to: string) =>
  (await runInProcess(['copy', '--from', from, '--to', to])).line;

/** Asserts that the current database at `path` is sound, and that its records have numbers. */
async function assertNumbered(path: string, last: number): Promise<void> {
  assert.deepEqual(await checkFile(path), []);
  const [head, ...lines] = (await exported(path)).split('\n').slice(0, -2);
  assert.equal(JSON.parse(head ?? '').last_ids.changes, last);
  assert.deepEqual(
    lines.map((line) => {
      const { type, id, number, created_at, updated_at } = JSON.parse(line);
      return { type, id, number, created_at, updated_at };
    }),
    NUMBERED,
  );
}

test('older versions: check finds a fault, but not what only later versions have', async (t) => {
  const file = await olderFile(t);
  assert.deepEqual(await checkFile(file), []);
  await writeForeignFile(file, 'UPDATE note_blocks SET count = 3');
  assert.deepEqual(await checkFile(file), [
    'note_blocks: block 0 counts 3 records, but there are 2',
  ]);
});

test('older versions: half of a resource is a fault', async (t) => {
  const file = await olderFile(t);
  await writeForeignFile(file, 'DROP TABLE comment_blocks');
  assert.match((await checkFile(file)).join(), /no such table: .*comment_blocks/);
});

test('older versions: a backup is restored as it is; the first start migrates it', async (t) => {
  const [file, kept, restored] = [await olderFile(t), newFile(t), newFile(t)];
  await runInProcess(['backup', kept, '--db', file]);
  await runInProcess(['restore', kept, '--db', restored]);
  assert.equal(await exported(restored), await exported(file));
  await (await openDatabase(t, restored)).close();
  await assertNumbered(restored, 4);
});

test('older versions: an export of the database has neither numbers nor times', async (t) => {
  const [file, db] = [await olderFile(t), newFile(t)];
  const output = await exported(file);
  assert.equal(output, EXPORT.replace('"version":1', '"version":2'));
  await runInProcess(['import', '--db', db], { input: output });
  await assertNumbered(db, 4);
});

test('older versions: an export of format 1 is imported, and imported again', async (t) => {
  const db = newFile(t);
  const run = () => runInProcess(['import', '--db', db], { input: EXPORT });
  assert.match(String((await run()).line), /^imported 4 records .*, 0 already present$/);
  await assertNumbered(db, 4);
  assert.match(String((await run()).line), /^imported 0 records .*, 4 already present$/);
  await assertNumbered(db, 4);
});

test('older versions: members that format 1 did not know are ignored', async (t) => {
  const db = newFile(t);
  const input = EXPORT.replaceAll('"id":1,', '"id":1,"number":-1,"created_at":true,');
  await runInProcess(['import', '--db', db], { input });
  await assertNumbered(db, 4);
});

test('older versions: an import that an older program began is finished', async (t) => {
  const [half, file] = [newFile(t), await olderFile(t)];
  await (await openDatabase(t, half)).close();
  const input = EXPORT.replace('"note_id":3', '"note_id":0');
  await assert.rejects(
    runInProcess(['import', '--db', half], { input }),
    /line 5: note_id must be/,
  );
  const marks = await openDatabase(t, half);
  const [mark] = await rows(marks, 'SELECT begun FROM notes_server_import');
  await marks.close();
  await writeForeignFile(
    file,
    `DELETE FROM tags; DELETE FROM comments;
     CREATE TABLE notes_server_import (begun INTEGER) STRICT;
     INSERT INTO notes_server_import VALUES (${mark?.begun})`,
  );
  const { line } = await runInProcess(['import', '--db', file], { input: EXPORT });
  assert.match(String(line), /^imported 2 records .*, 2 already present$/);
  assert.deepEqual(await checkFile(file), []);
  assert.equal(await notesIn(file), 2);
});

test('older versions: a copy has the current version, and numbers', async (t) => {
  const [file, to] = [await olderFile(t), newFile(t)];
  const done = `${file} and ${to} have the same content: ${COUNTS}`;
  for (const run of ['first', 'second']) {
    assert.equal(await copy(file, to), done, run);
    await assertNumbered(to, 4);
  }
});

test('older versions: a copy refuses a target with tags on notes', async (t) => {
  const [file, to] = [await olderFile(t), newFile(t)];
  await copy(file, to);
  await writeForeignFile(
    to,
    `INSERT INTO note_tags (note_id, tag_id) VALUES (1, 1);
     CREATE TABLE notes_server_copy (begun INTEGER) STRICT`,
  );
  await assert.rejects(copy(file, to), /it already holds other records$/);
});
