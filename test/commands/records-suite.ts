// The test of imported records that holds for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importInto, RecordRefused, recordLines } from '../../src/commands/records.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Database } from '../../src/storage/database.ts';
import { unfinishedIn } from '../../src/storage/schema/unfinished.ts';
import type { Engine } from '../support/engines.ts';

export const NOTES = notes;
export const RECORDS = [
  [1, 'a', 'b', 3, 1, null],
  [2, 'a\u0000b', '😀', 1, null, null],
  [7, `x'41'`, '"\\', 2, 0, 1_700_000_000_001],
] as const;

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

async function linesIn(database: Database): Promise<string> {
  let text = '';
  for await (const { lines } of recordLines(database, NOTES)) text += lines;
  return text;
}

/** Registers the test of records on `engine`. */
export function testRecords(engine: Engine): void {
  test(`records: added once, all of a call or none (${engine.name})`, async (t) => {
    const database = await engine.open(t);
    const into = importInto(database, 1);
    assert.equal(await unfinishedIn(database), undefined);
    assert.deepEqual(await into.add(NOTES, RECORDS.slice(0, 2)), 2);
    assert.equal(await unfinishedIn(database), 'import');
    assert.deepEqual(await into.add(NOTES, RECORDS), 1);
    assert.deepEqual(await into.add(NOTES, RECORDS), 0);
    const wanted = RECORDS.map(
      ([id, title, body, number, created, updated]) =>
        `${JSON.stringify({
          ...{ type: 'note', id, title, body, number },
          ...{ created_at: timeOf(created), updated_at: timeOf(updated) },
        })}\n`,
    );
    assert.equal(await linesIn(database), wanted.join(''));
    for (const other of [
      [7, 'other', '"\\', 4, null, null],
      [7, `x'41'`, 'other', 4, null, null],
    ] as const) {
      const records = [
        [5, 'new', 'b', 5, null, null],
        other,
        [9, 'new', 'b', 6, null, null],
      ] as const;
      await assert.rejects(
        into.add(NOTES, records),
        (error) => error instanceof RecordRefused && error.index === 1,
      );
    }
    assert.equal(await linesIn(database), wanted.join(''));
    await into.finish({ notes: 20, tags: 3, changes: 8 });
    assert.equal(await unfinishedIn(database), undefined);
    await importInto(database, 1).finish({ notes: 10, comments: 4 });
    const found = await database.read({
      sql: 'SELECT name, seq FROM sqlite_sequence ORDER BY name',
    });
    assert.deepEqual(JSON.parse(JSON.stringify(found)), [
      { name: 'changes', seq: 8 },
      { name: 'comments', seq: 4 },
      { name: 'notes', seq: 20 },
      { name: 'tags', seq: 3 },
    ]);
  });
}
