// What the triggers keep of notes that programs change and delete, and that the trash has a column
// for each of a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guide, sectionOf, tablesIn } from '../project/documents.ts';
import { change, openDatabase, rows, withNumbers } from '../support/databases.ts';
import { type Ended, keep } from '../support/kept-versions.ts';

const MINUTE_MS = 60_000;
const START = 1_700_000_000_000;

const VERSIONS = "SELECT group_concat(body, ' ' ORDER BY version) AS kept FROM note_versions";

/** The bodies that a note with `a` gets, each after some minutes, and those that are kept. */
const SERIES = {
  'each text that a change replaces': ['b0 c0 d0 e11', 'a b c d'],
  'no text that stays': ['a1 b2 b3', 'a'],
  'each text after the clock was set back': ['b100 c5 d6', 'a b c'],
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

test('kept texts: five-second changes over a day are thinned as the guide says', () => {
  const [table = []] = tablesIn(sectionOf(guide('undoing'), 'Which versions stay'));
  const shown: Ended[] = [];
  const read = (cell?: string) => Number(cell?.replace(',', ''));
  const expected = new Map(
    table.map(([time = '', changes, count, gaps]) => [read(changes), { time, count, gaps }]),
  );
  assert.equal(expected.size, 5);
  for (let change = 1; change <= Math.max(...expected.keys()); change += 1) {
    keep(shown, { replacedAt: change * 5_000 });
    const row = expected.get(change);
    if (!row) continue;
    const [number, unit = ''] = row.time.split(' ');
    assert.equal(change * 5, Number(number) * (unit.startsWith('hour') ? 3_600 : 60));
    const gaps = shown
      .slice(1)
      .map(({ replacedAt }, place) => replacedAt - (shown[place]?.replacedAt ?? 0));
    const [least, most] = [Math.min(...gaps) / 1_000, Math.max(...gaps) / 1_000];
    const between = least === most ? `${least}` : `${least} to ${most.toLocaleString('en-US')}`;
    assert.deepEqual([row.count, row.gaps], [`${shown.length}`, between]);
  }
});

/** How many versions a note has, when it changes after the last one in ms, how many are kept. */
const RATES = {
  'with 99, one that is replaced at once': [99, [0], 1],
  'with 100, none within a second': [100, [0, 999], 0],
  'with 100, one a second later, and none at once': [100, [1_000, 1_000, 1_999], 1],
  'with 100, one after the clock was set back': [100, [-1, 998], 1],
  'with 100 that are erased, each': [100, [0, 0], 2, 'INSERT INTO erased_versions VALUES (1, 100)'],
  'that is created in the future, up to 150': [
    ...([100, Array(60).fill(0), 50] as const),
    `UPDATE notes SET created_at = ${START}, updated_at = ${START}`,
  ],
} as const;

for (const [what, [count, changes, kept, sql]] of Object.entries(RATES))
  test(`kept texts: of a note ${what}`, async (t) => {
    const database = await openDatabase(t);
    const insert = 'INSERT INTO notes (title, body, created_at, updated_at)';
    await change(database, `${insert} VALUES ('t', 'a', 0, ${START})`);
    await change(
      database,
      `${withNumbers(count)} INSERT INTO note_versions
       SELECT NULL, 1, n, 0, ${START - count} + n, 't', 'b' FROM numbers`,
    );
    if (sql) await change(database, sql);
    for (const [place, ms] of changes.entries())
      await change(database, `UPDATE notes SET body = '${place}', updated_at = ${START + ms}`);
    const counting = `SELECT count(*) AS kept FROM note_versions WHERE id > ${count}`;
    assert.deepEqual(await rows(database, counting), [{ kept }]);
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
