// The round trip of an export: arbitrary records, cut into pieces anywhere.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { importInto } from '../../src/commands/records.ts';
import { notes } from '../../src/resources/notes.ts';
import { newFile, openDatabase } from '../support/databases.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';

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

/**
 * Exports `numRuns` random databases, imports the pieces, and asserts that the next export is the
 * same.
 */
export async function checkRoundTrips(t: TestContext, numRuns: number): Promise<void> {
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
        notes,
        ids.map((id, index) => {
          const [title = '.', body = '.'] = [texts[index], texts[index + 8]];
          return [id, title, body, ids.length - index, id % 253_402_300_800_000, null] as const;
        }),
      );
      await into.finish({ notes: Math.max(0, ...ids), changes: ids.length });
      await database.close();
      const whole = await exported(from);
      const bytes = Buffer.from(whole);
      async function* pieces() {
        for (let start = 0; start < bytes.length; start += piece)
          yield bytes.subarray(start, start + piece);
      }
      await runInProcess(['import', '--db', to], { input: pieces() });
      assert.equal(await exported(to), whole);
    }),
    { numRuns },
  );
}
