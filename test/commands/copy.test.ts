// Copies between engines: everything arrives unchanged, an interrupted copy is finished by the next
// one, and nothing else is changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyDatabase } from '../../src/commands/copy.ts';
import { RELATIONS } from '../../src/resources/resources.ts';
import type { Database, Source } from '../../src/storage/database.ts';
import { unfinishedIn } from '../../src/storage/schema/unfinished.ts';
import { change, NO_RECORDS, openDatabase, rows } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';
import { contentOf, countsOf, fill, quietly, testCopies } from './copy-suite.ts';

const COUNT = 500;
const GENERATION = 'SELECT generation FROM notes_server_generation';
const INSERT = `INSERT INTO notes (title, body, number) VALUES ('a', 'b', 1)`;

for (const engine of ENGINES) testCopies(engine, 1_000);

test('copy: a second one compares and writes nothing', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source, COUNT);
  await copyDatabase(source, target, RELATIONS, quietly);
  const readOnly: Database = { ...target, transact: () => assert.fail() };
  assert.deepEqual(await copyDatabase(source, readOnly, RELATIONS, quietly), countsOf(COUNT));
});

for (const [what, difference] of Object.entries({
  'another text': `UPDATE tags SET name = 'other' WHERE id = 1`,
  'one more record': `INSERT INTO tags (name, number) VALUES ('more', 9000)`,
  'one record fewer': 'DELETE FROM comments WHERE id = 7',
  'another tag on a note': 'UPDATE note_tags SET tag_id = 2 WHERE tag_id = 3',
  'another last change': `UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'changes'`,
  'another time': 'UPDATE notes SET created_at = 1 WHERE id = 2',
  'a higher last id': `UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'notes'`,
})) {
  test(`copy: a target with ${what} is refused and unchanged`, async (t) => {
    const [source, target] = [await openDatabase(t), await openDatabase(t)];
    await fill(source, COUNT);
    await copyDatabase(source, target, RELATIONS, quietly);
    await change(target, difference);
    const content = await contentOf(target);
    await assert.rejects(
      copyDatabase(source, target, RELATIONS, quietly),
      /it already holds other records/,
    );
    assert.deepEqual(await contentOf(target), content);
  });
}

test('copy: a target whose records were all deleted is not empty', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await change(source, INSERT);
  for (const number of [1, 2])
    await change(target, `INSERT INTO notes (title, body, number) VALUES ('a', 'b', ${number})`);
  await change(target, 'DELETE FROM notes');
  await assert.rejects(
    copyDatabase(source, target, RELATIONS, quietly),
    /it already holds other records/,
  );
});

test('copy: a write during the copy is detected; it stays unfinished', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source, COUNT);
  let changed: Promise<unknown> | undefined;
  const onProgress = (phase: string, done: number, total: number) => {
    if (phase === 'copy' && done === total)
      changed ??= change(target, `UPDATE notes SET body = 'y' WHERE id = 200`);
  };
  // Reads after the copy wait for the change.
  const waiting: Source = {
    read: (statement) => Promise.resolve(changed).then(() => source.read(statement)),
  };
  await assert.rejects(
    copyDatabase(waiting, target, RELATIONS, onProgress),
    /one of the two databases changed/,
  );
  assert.equal(await unfinishedIn(target), 'copy');
  await copyDatabase(source, target, RELATIONS, quietly);
  assert.deepEqual(await contentOf(target), await contentOf(source));
});

test('copy: wrong counts do not matter, ids beyond the limit do', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await change(target, `INSERT INTO sqlite_sequence (name, seq) VALUES ('comments', 0)`);
  await change(source, INSERT);
  await change(source, 'UPDATE note_blocks SET count = 500');
  assert.equal((await copyDatabase(source, target, RELATIONS, quietly)).notes, 1);
  await change(
    source,
    `INSERT INTO notes (id, title, body, number) VALUES (9007199254740993, 'a', 'b', 2)`,
  );
  await assert.rejects(
    copyDatabase(source, await openDatabase(t), RELATIONS, quietly),
    /notes has an id beyond/,
  );
});

test('copy: an empty database', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  const reported: unknown[] = [];
  const counts = await copyDatabase(source, target, RELATIONS, (...progress) =>
    reported.push(progress),
  );
  assert.deepEqual(counts, NO_RECORDS);
  assert.deepEqual(reported.at(-1), ['check', 0, 0]);
});

test('copy: begins a new generation, with an empty log', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source, COUNT);
  const [created] = await rows(target, GENERATION);
  await copyDatabase(source, target, RELATIONS, quietly);
  const [copied] = await rows(target, GENERATION);
  const [original] = await rows(source, GENERATION);
  assert.equal(new Set([created, copied, original].map((row) => row?.generation)).size, 3);
  assert.deepEqual(await rows(target, 'SELECT count(*) AS count FROM changes'), [{ count: 0 }]);
});

test('copy: the source may be replaced by a backup between two attempts', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source, COUNT);
  const stopped = copyDatabase(source, target, RELATIONS, (phase) => {
    if (phase === 'check') throw new Error('broken');
  });
  await assert.rejects(stopped, /broken/);
  // The numbers of the last note and of a comment now belong to other records.
  for (const table of ['notes', 'comments']) {
    await change(source, `DELETE FROM ${table} WHERE id = (SELECT max(id) FROM ${table})`);
    await change(
      source,
      `UPDATE ${table} SET number = (SELECT max(number) FROM ${table}) + 1
       WHERE id = (SELECT min(id) FROM ${table})`,
    );
  }
  await copyDatabase(source, target, RELATIONS, quietly);
  assert.deepEqual(await contentOf(target), await contentOf(source));
});
