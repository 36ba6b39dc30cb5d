// The tests of what triggers keep beside the records, for any engine: the log of the changes and
// the counters of the notes of a tag.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EMPTY_LOG, renewGeneration } from '../../src/commands/import.ts';
import { isOneOf } from '../../src/records/condition.ts';
import type { Database } from '../../src/storage/database.ts';
import { change, rows, withNumbers } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { tablesOf } from '../support/tables.ts';

const KEPT_CHANGES = 1_000_000;

async function openTables(t: TestContext, engine: Engine) {
  const database = await engine.open(t);
  return { ...tablesOf(database), database };
}

/** Returns the changes after `number`: the type, the id and the other id, if any. */
async function changesAfter(database: Database, number: number): Promise<string[]> {
  const found = await rows(
    database,
    `SELECT concat_ws(' ', type, id, other_id) AS text FROM changes
     WHERE number > ${number} ORDER BY number`,
  );
  return found.map(({ text }) => String(text));
}

/** Returns the number of the last change. */
async function lastNumber(database: Database): Promise<number> {
  const [row] = await rows(database, 'SELECT max(number) AS number FROM changes');
  return Number(row?.number);
}

/** Registers the tests of the log and the counters on `engine`. */
export function testChangeLog(engine: Engine): void {
  test('change log: a change without a record takes a number, but hides no other', async (t) => {
    const { notes, database } = await openTables(t, engine);
    await notes.create([['a', 'b']]);
    await Promise.all([notes.change(9, ['c', 'd']), notes.change(1, ['e', 'f'])]);
    assert.equal(await lastNumber(database), 3);
    assert.deepEqual(await changesAfter(database, 0), ['note.created 1', 'note.updated 1']);
  });

  test('change log: records that another program writes without numbers', async (t) => {
    const { notes, comments, database } = await openTables(t, engine);
    await notes.create([['a', 'b']]);
    const before = (await notes.read(1))?.tag;
    await change(database, `INSERT INTO notes (title, body) VALUES ('c', 'd'), ('e', 'f')`);
    await change(database, `UPDATE notes SET title = 'g' WHERE id IN (1, 3)`);
    await change(database, `INSERT INTO comments (note_id, body) VALUES (1, 'h')`);
    await change(database, `UPDATE comments SET note_id = 2`);
    await notes.change(2, ['i', 'j']);
    assert.deepEqual(await changesAfter(database, 1), [
      ...['note.created 2', 'note.created 3', 'note.updated 1', 'note.updated 3'],
      ...['comment.created 1 1', 'comment.updated 1 2', 'note.updated 2'],
    ]);
    const numbers = await rows(database, 'SELECT number FROM notes ORDER BY id');
    assert.deepEqual(
      numbers.map(({ number }) => number),
      [4, 8, 5],
    );
    assert.equal((await notes.read(1))?.tag, before?.replace(/1$/, '4'));
    assert.equal((await comments.read(1, 2))?.tag, before?.replace(/1$/, '7'));
  });

  test('change log: tagging and untagging, but not with the note or the tag', async (t) => {
    const { notes, tags, database } = await openTables(t, engine);
    await notes.create([{}, {}]);
    await tags.create([['t'], ['u']]);
    const before = await lastNumber(database);
    await change(database, 'INSERT INTO note_tags VALUES (1, 1), (1, 2), (2, 1), (2, 2)');
    await change(database, 'DELETE FROM note_tags WHERE note_id = 1 AND tag_id = 2');
    await notes.remove(2);
    await tags.remove(1);
    // As the background does.
    await change(database, 'DELETE FROM note_tags WHERE tag_id NOT IN (SELECT id FROM tags)');
    assert.deepEqual(await changesAfter(database, before), [
      ...['note.tagged 1 1', 'note.tagged 1 2', 'note.tagged 2 1', 'note.tagged 2 2'],
      ...['note.untagged 1 2', 'note.deleted 2', 'tag.deleted 1'],
    ]);
    assert.deepEqual(await rows(database, 'SELECT * FROM note_tags'), []);
  });

  test('change log: the latest 1,000,000 are kept', async (t) => {
    const { notes, database } = await openTables(t, engine);
    for (const title of ['a', 'b', 'c']) await notes.create([[title, 'b']]);
    const last = KEPT_CHANGES + 61;
    await change(database, `UPDATE sqlite_sequence SET seq = ${last} WHERE name = 'changes'`);
    await notes.change(1, ['d', 'b']);
    await notes.remove(2);
    assert.equal((await changesAfter(database, 0)).length, 5);
    // Old changes go at every 64th number.
    await notes.create([['e', 'b']]);
    assert.deepEqual(await changesAfter(database, 0), [
      ...['note.updated 1', 'note.deleted 2', 'note.created 4'],
    ]);
  });

  test('generations: a new one keeps the numbers and invalidates the tags', async (t) => {
    const { notes, database } = await openTables(t, engine);
    const created = await notes.create([['a', 'b']]);
    assert.ok(created);
    const known = isOneOf([created.tag, created.tag.replace('-', '.')]);
    assert.equal((await notes.page({ limit: 1, offset: 0, known }))?.items, undefined);
    await database.transact([EMPTY_LOG, renewGeneration()]);
    assert.deepEqual(await changesAfter(database, 0), []);
    const tag = (await notes.read(1))?.tag;
    assert.notEqual(tag, created.tag);
    assert.match(String(tag), /^[0-9a-f]{8}-1$/);
    assert.equal(await notes.remove(1, 0, known), false);
    assert.notEqual((await notes.page({ limit: 1, offset: 0, known }))?.items, undefined);
    const next = await notes.create([['c', 'd']]);
    assert.equal(next?.tag, tag?.replace('-1', '-2'));
  });

  test('tagged notes: counted for each tag', async (t) => {
    const { notes, tags, database } = await openTables(t, engine);
    await tags.create([['t'], ['u']]);
    await change(
      database,
      `${withNumbers(2_100)} INSERT INTO notes (id, title, body, number)
       SELECT n, 'a', 'b', n + 10 FROM numbers`,
    );
    await change(database, 'INSERT INTO note_tags SELECT id, 1 + id % 2 FROM notes');
    await change(database, 'INSERT INTO note_tags VALUES (1, 1), (2, 2)');
    const counted = `SELECT tag_id, note_id >> 10 AS block, count(*) AS count
      FROM note_tags GROUP BY 1, 2 ORDER BY 1, 2`;
    const assertCounted = async (blocks: number) => {
      const kept = await rows(
        database,
        'SELECT tag_id, block, count FROM note_tag_blocks ORDER BY tag_id, block',
      );
      assert.deepEqual(kept, await rows(database, counted));
      assert.equal(kept.length, blocks);
    };
    await assertCounted(6);
    await change(
      database,
      'DELETE FROM note_tags WHERE note_id % 5 = 0 OR note_id > 2047 AND tag_id = 1',
    );
    await assertCounted(5);
    await Promise.all([notes.remove(1), notes.remove(2)]);
    await assertCounted(5);
    await tags.remove(2);
    await assertCounted(5);
    await change(database, 'DELETE FROM note_tags WHERE tag_id = 2');
    await assertCounted(2);
    await change(database, 'DELETE FROM notes');
    await assertCounted(0);
  });
}
