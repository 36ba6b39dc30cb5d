// Records as lines: whatever is stored comes out, goes into any engine, and comes out the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { notes } from '../../src/collections/notes.ts';
import { exportLines } from '../../src/commands/export.ts';
import { importLines } from '../../src/commands/import.ts';
import type { Database } from '../../src/storage/database.ts';
import { importInto, recordLines } from '../../src/storage/records.ts';
import { unfinishedIn } from '../../src/storage/unfinished.ts';
import { newFile, openDatabase, overhear } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';

const NOTES = notes.shape;
const RECORDS = [
  [1, 'a', 'b'],
  [2, 'a\u0000b', '😀'],
  [7, `x'41'`, '"\\'],
] as const;

async function linesIn(database: Database): Promise<string> {
  let text = '';
  for await (const { lines } of recordLines(database, NOTES, 'note')) text += lines;
  return text;
}

for (const engine of ENGINES) {
  test(`${engine.name}: records are added once, all of a call or none, and no service starts before the end`, async (t) => {
    const database = await engine.open(t);
    const into = importInto(database, 1);
    assert.equal(await unfinishedIn(database), undefined);
    assert.deepEqual(await into.add(NOTES, RECORDS.slice(0, 2)), { added: 2 });
    assert.equal(await unfinishedIn(database), 'import');
    assert.deepEqual(await into.add(NOTES, RECORDS), { added: 1 });
    assert.deepEqual(await into.add(NOTES, RECORDS), { added: 0 });
    const wanted = RECORDS.map(([id, title, body]) => `${JSON.stringify({ type: 'note', id, title, body })}\n`);
    assert.equal(await linesIn(database), wanted.join(''));
    for (const other of [
      [7, 'other', '"\\'],
      [7, `x'41'`, 'other'],
    ] as const) {
      assert.deepEqual(await into.add(NOTES, [[5, 'new', 'b'], other, [9, 'new', 'b']]), { taken: 7 });
    }
    assert.equal(await linesIn(database), wanted.join(''));
    await into.finish({ notes: 20, tags: 3 });
    assert.equal(await unfinishedIn(database), undefined);
    await importInto(database, 1).finish({ notes: 10, comments: 4 });
    const found = await database.read({ sql: 'SELECT name, seq FROM sqlite_sequence ORDER BY name' });
    assert.deepEqual(JSON.parse(JSON.stringify(found)), [
      { name: 'comments', seq: 4 },
      { name: 'notes', seq: 20 },
      { name: 'tags', seq: 3 },
    ]);
  });
}

test('what is there already is not written again', async (t) => {
  const { database, transactions } = overhear(await openDatabase(t));
  const into = importInto(database, 1);
  await into.add(NOTES, RECORDS);
  const { length } = transactions;
  await into.add(NOTES, RECORDS);
  assert.equal(transactions.length, length);
});

const text = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom('\u0000', '\n', '"', '\\', '\u2028', '😀', 'a'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 40,
  })
  .map((each) => `.${each}`);
const rising = fc
  .uniqueArray(fc.integer({ min: 1, max: 2 ** 52 }), { maxLength: 8 })
  .map((ids) => ids.sort((a, b) => a - b));

test('an export that is cut into pieces anywhere is imported, and exported again byte by byte', async (t) => {
  const quiet = { isTerminal: false, write() {} };
  const storage = (db: string) => ({ db, dbPassword: undefined, dbPasswordFile: undefined });
  const exported = async (db: string) => {
    const parts: string[] = [];
    await exportLines(storage(db), undefined, async (part) => parts.push(part), quiet);
    return parts.join('');
  };
  const data = fc.record({
    ids: rising,
    texts: fc.array(text, { minLength: 20, maxLength: 20 }),
    piece: fc.integer({ min: 1, max: 50 }),
  });
  await fc.assert(
    fc.asyncProperty(data, async ({ ids, texts, piece }) => {
      const [from, to] = [newFile(t), newFile(t)];
      const database = await openDatabase(t, from);
      const into = importInto(database, 1);
      await into.add(
        NOTES,
        ids.map((id, index) => [id, texts[index] ?? '.', texts[index + 8] ?? '.'] as const),
      );
      await into.finish({ notes: Math.max(0, ...ids) });
      await database.close();
      const whole = await exported(from);
      const bytes = Buffer.from(whole);
      async function* pieces() {
        for (let start = 0; start < bytes.length; start += piece) yield bytes.subarray(start, start + piece);
      }
      await importLines(undefined, pieces(), storage(to), quiet);
      assert.equal(await exported(to), whole);
    }),
    { numRuns: 30 },
  );
});
