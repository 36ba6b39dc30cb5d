// The tests of imports that hold for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soundnessQueries } from '../../src/commands/check.ts';
import { recordLines } from '../../src/commands/export.ts';
import { endLine, headLine } from '../../src/commands/export-format.ts';
import { ExportReader } from '../../src/commands/export-reader.ts';
import { load } from '../../src/commands/import.ts';
import { lastIdsOf } from '../../src/pages.ts';
import { typeOf } from '../../src/resources/relation.ts';
import type { Database } from '../../src/storage/database.ts';
import { storedSchema } from '../../src/storage/schema/migrations.ts';
import { RELATIONS } from '../../src/storage/schema/steps.ts';
import { change, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { exportLine } from '../support/records.ts';
import { assertIndexed, isIndexed } from '../support/search-index.ts';

const TIMES = { created_at: null, updated_at: '2026-02-28T23:59:59.999Z' };
const RECORDS = [
  // Another program may have written ids below 1.
  { type: 'note', id: -(2 ** 52), title: 'a', body: 'b', number: 7, ...TIMES },
  { type: 'note', id: 0, title: 'a', body: 'b', number: 6, ...TIMES },
  { type: 'note', id: 1, title: 'a', body: 'b', number: 3, ...TIMES },
  { type: 'note', id: 2, title: 'a\u0000b', body: '😀', number: 1, ...TIMES },
  { type: 'note', id: 7, title: `x'41'`, body: '"\\', number: 2, ...TIMES },
  { type: 'tag', id: 4, name: '<&>', number: 5, ...TIMES },
  { type: 'comment', id: 2, note_id: 7, body: 'e', number: 4, ...TIMES },
  { type: 'comment', id: 3, note_id: -(2 ** 52), body: 'e', number: 8, ...TIMES },
  { type: 'note_tag', note_id: 0, tag_id: 4 },
  { type: 'note_tag', note_id: 2, tag_id: 4 },
];
/** A line that is skipped, and ends a transaction. */
const BLANK = ' '.repeat(1_048_576);

const LAST_IDS = { changes: 20, comments: 3, notes: 20, tags: 4 };

/** Loads these lines between the first and the last one of an export. */
async function loadLines(database: Database, lines: readonly string[]): Promise<void> {
  const countOf = (type: string) => lines.filter((line) => line.includes(`"${type}","`)).length;
  const counts = Object.fromEntries(RELATIONS.map((each) => [each.table, countOf(typeOf(each))]));
  const all = [
    headLine({ counts, lastIds: LAST_IDS }),
    ...lines.map((line) => `${line}\n`),
    endLine(lines.length),
  ];
  async function* input() {
    for (const line of all) yield Buffer.from(line);
  }
  await using reader = new ExportReader(input());
  await load(reader, await reader.readHead(), database, () => {});
}

/** Asserts that a sound database and its search index hold exactly these lines. */
async function assertHolds(database: Database, lines: readonly string[]): Promise<void> {
  let found = '';
  for (const relation of RELATIONS)
    for await (const page of recordLines(database, relation)) found += page.lines;
  assert.deepEqual(found.split('\n').slice(0, -1), lines);
  for (const sql of soundnessQueries()) assert.deepEqual(await rows(database, sql), []);
  assert.equal((await storedSchema(database.read)).isUnfinished, false);
  assert.deepEqual(await rows(database, 'SELECT * FROM changes'), []);
  assert.ok(await isIndexed(database));
  await assertIndexed(database);
}

/** Registers the tests of imports on `engine`. */
export function testImports(engine: Engine): void {
  const lines = RECORDS.map(exportLine);
  const generation = 'SELECT generation FROM notes_server_generation';

  test(`import: all records, last ids and a new generation (${engine.name})`, async (t) => {
    const database = await engine.open(t);
    const before = await rows(database, generation);
    await loadLines(database, lines);
    await assertHolds(database, lines);
    assert.deepEqual(await lastIdsOf(database), LAST_IDS);
    assert.notDeepEqual(await rows(database, generation), before);
  });

  test(`import: an unfinished one is emptied and begun again (${engine.name})`, async (t) => {
    const database = await engine.open(t);
    for (let run = 0; run < 2; run += 1) {
      const broken = loadLines(database, [...lines.slice(0, 6), BLANK, '{"type":"comment"}']);
      await assert.rejects(broken, /^Error: line 9: id must be a whole number/);
      assert.equal((await storedSchema(database.read)).isUnfinished, true);
      assert.equal((await rows(database, 'SELECT id FROM notes')).length, 5);
    }
    await loadLines(database, lines.slice(1, 4));
    await assertHolds(database, lines.slice(1, 4));
    assert.deepEqual(await lastIdsOf(database), LAST_IDS);
  });

  test(`import: what is not empty is refused, and stays (${engine.name})`, async (t) => {
    const database = await engine.open(t);
    const refusal = /^DatabaseUnusable: the database is not empty: import into a new one$/;
    await loadLines(database, lines);
    await assert.rejects(loadLines(database, lines), refusal);
    await assertHolds(database, lines);
    // Its ids would be assigned twice.
    for (const { table } of RELATIONS.toReversed()) await change(database, `DELETE FROM ${table}`);
    await assert.rejects(loadLines(database, lines), refusal);
  });
}
