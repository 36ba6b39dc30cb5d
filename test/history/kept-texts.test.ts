// What the triggers keep of notes that programs change and delete, and that the trash has a column
// for each of a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change, openDatabase, rows } from '../support/databases.ts';

const MINUTE_MS = 60_000;

const VERSIONS = "SELECT group_concat(body, ' ' ORDER BY version) AS kept FROM note_versions";

/** The bodies that a note with `a` gets, each after some minutes, and those that are kept. */
const SERIES = {
  'the text before a series': ['b1 c2 d10 e11', 'a'],
  'a text for each ten minutes': ['b1 c2 d12 e23', 'a c d'],
  'no text that stays': ['a1 b2 b3', 'a'],
  'a text after the clock was set back': ['b100 c5 d6', 'a b'],
  'each text, if the note was created in the future': ['b0 c0', 'a b'],
};

for (const [what, [changes = '', kept]] of Object.entries(SERIES))
  test(`kept texts: ${what}`, async (t) => {
    const database = await openDatabase(t);
    const insert = 'INSERT INTO notes (title, body, created_at, updated_at)';
    await change(database, `${insert} VALUES ('t', 'a', 0, 0)`);
    for (const [body, ...minutes] of changes.split(' ')) {
      const time = Number(minutes.join('')) * MINUTE_MS;
      await change(
        database,
        `UPDATE notes SET title = 't', body = '${body}', updated_at = ${time}`,
      );
    }
    assert.deepEqual(await rows(database, VERSIONS), [{ kept }]);
  });

test('kept texts: once nothing is kept, a deleted note is erased', async (t) => {
  const database = await openDatabase(t);
  for (const sql of [
    "INSERT INTO notes (title, body) VALUES ('t', 'a'), ('t', 'a')",
    "UPDATE notes SET body = 'b'",
    'UPDATE notes_server_history SET days = 0',
    'DELETE FROM notes WHERE id = 1',
  ])
    await change(database, sql);
  assert.deepEqual(await rows(database, 'SELECT * FROM deleted_notes'), []);
  const erased = await rows(database, 'SELECT type, id FROM erased_records');
  assert.deepEqual(erased, [{ type: 'note', id: 1 }]);
});

test('kept texts: tags of a deleted note that are no ids are refused', async (t) => {
  const database = await openDatabase(t);
  const columns = '(tag_ids, id, number, title, body)';
  const store = (ids: string) =>
    change(database, `INSERT INTO deleted_notes ${columns} VALUES ('${ids}', 1, 1, 'a', 'b')`);
  for (const ids of ['', '[1,', '1', '[1,"a"]'])
    await assert.rejects(store(ids), /CHECK|malformed/, ids);
  await store('[-1,4503599627370496]');
});

test('kept texts: the trash ends with the columns of notes, in the same order', async (t) => {
  const database = await openDatabase(t);
  const columnsOf = async (name: string) =>
    (await rows(database, `SELECT name, type FROM pragma_table_info('${name}')`)).map(
      (column) => `${column.name} ${column.type}`,
    );
  const columns = await columnsOf('notes');
  assert.deepEqual(
    (await columnsOf('deleted_notes')).slice(-columns.length),
    columns,
    'a step that adds a column to notes must add it to deleted_notes, too',
  );
});
