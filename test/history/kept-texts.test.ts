// What the triggers keep of notes that programs change and delete, and that the trash has a column
// for each of a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change, openDatabase, rows } from '../support/databases.ts';

const MINUTE_MS = 60_000;

const VERSIONS = "SELECT group_concat(body, ' ' ORDER BY version) AS kept FROM note_versions";

/** The changes of a note by minutes, each to a body, and the bodies that are kept. */
const SERIES: Readonly<Record<string, [changes: [minute: number, body: string][], kept: string]>> =
  {
    'the text before a series': [
      [
        [1, 'b'],
        [2, 'c'],
        [10, 'd'],
        [11, 'e'],
      ],
      'a',
    ],
    'a text for each ten minutes': [
      [
        [1, 'b'],
        [2, 'c'],
        [12, 'd'],
        [23, 'e'],
      ],
      'a c d',
    ],
    'no text that stays': [
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'b'],
      ],
      'a',
    ],
    'a text after the clock was set back': [
      [
        [100, 'b'],
        [5, 'c'],
        [6, 'd'],
      ],
      'a b',
    ],
    'each text, if the note was created in the future': [
      [
        [0, 'b'],
        [0, 'c'],
      ],
      'a b',
    ],
  };

for (const [what, [changes, kept]] of Object.entries(SERIES))
  test(`kept texts: ${what}`, async (t) => {
    const database = await openDatabase(t);
    await change(
      database,
      `INSERT INTO notes (title, body, created_at, updated_at) VALUES ('t', 'a', 0, 0)`,
    );
    for (const [minute, body] of changes)
      await change(
        database,
        `UPDATE notes SET title = 't', body = '${body}', updated_at = ${minute * MINUTE_MS}`,
      );
    assert.deepEqual(await rows(database, VERSIONS), [{ kept }]);
  });

test('kept texts: the latest 100 of each note', async (t) => {
  const database = await openDatabase(t);
  await change(
    database,
    `INSERT INTO notes (title, body, created_at, updated_at)
     VALUES ('t', 'a', 0, 0), ('o', 'a', 0, 0)`,
  );
  await change(database, `UPDATE notes SET body = 'b', updated_at = 1 WHERE id = 2`);
  for (let count = 1; count <= 103; count += 1)
    await change(
      database,
      `UPDATE notes SET body = '${count}', updated_at = ${count * 11 * MINUTE_MS} WHERE id = 1`,
    );
  const sql = `SELECT note_id, count(*) AS kept, min(CAST(body AS INTEGER)) AS first
               FROM note_versions GROUP BY note_id`;
  assert.deepEqual(await rows(database, sql), [
    { note_id: 1, kept: 100, first: 3 },
    { note_id: 2, kept: 1, first: 0 },
  ]);
});

test('kept texts: nothing with 0 days', async (t) => {
  const database = await openDatabase(t);
  await change(database, 'UPDATE notes_server_history SET days = 0');
  await change(database, `INSERT INTO notes (title, body) VALUES ('t', 'a')`);
  await change(database, `UPDATE notes SET body = 'b'`);
  await change(database, 'DELETE FROM notes');
  const sql = `SELECT (SELECT count(*) FROM note_versions) + (SELECT count(*) FROM deleted_notes)
               AS kept`;
  assert.deepEqual(await rows(database, sql), [{ kept: 0 }]);
});

test('kept texts: tags of a deleted note that are no ids are refused', async (t) => {
  const database = await openDatabase(t);
  const store = (ids: string) =>
    change(
      database,
      `INSERT INTO deleted_notes (tag_ids, id, number, title, body)
       VALUES ('${ids}', 1, 1, 'a', 'b')`,
    );
  for (const ids of ['', '[1,', '1', '[1,"a"]'])
    await assert.rejects(store(ids), /CHECK|malformed/, ids);
  await store('[-1,4503599627370496]');
});

for (const [table, kept] of [
  ['notes', 'deleted_notes'],
  ['comments', 'deleted_comments'],
])
  test(`kept texts: ${kept} ends with the columns of ${table}, in the same order`, async (t) => {
    const database = await openDatabase(t);
    const columnsOf = async (name: string | undefined) =>
      (await rows(database, `SELECT name, type FROM pragma_table_info('${name}')`)).map(
        (column) => `${column.name} ${column.type}`,
      );
    const columns = await columnsOf(table);
    assert.deepEqual(
      (await columnsOf(kept)).slice(-columns.length),
      columns,
      `a step that adds a column to ${table} must add it to ${kept}, too`,
    );
  });
