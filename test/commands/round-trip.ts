// The round trip of an export: arbitrary records, cut into pieces anywhere.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { endLine, headLine } from '../../src/commands/export-format.ts';
import { anyCharacter } from '../support/any-character.ts';
import { NO_RECORDS, newFile } from '../support/databases.ts';
import { exported, runInProcess } from '../support/in-process-command.ts';
import { exportLine } from '../support/records.ts';

const text = fc
  .string({
    unit: fc.oneof(fc.constantFrom('\u0000', '\n', '"', '\\', '\u2028', '😀', 'a'), anyCharacter),
    maxLength: 40,
  })
  .map((each) => `.${each}`);
const note = fc.record({
  id: fc.integer({ min: 1, max: 2 ** 52 }),
  title: text,
  body: text,
  createdAt: fc.option(
    fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
  ),
});

/** Imports pieces of `numRuns` random exports, and asserts that the next export is the same. */
export async function checkRoundTrips(t: TestContext, numRuns: number): Promise<void> {
  const notes = fc.uniqueArray(note, { selector: ({ id }) => id, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(notes, fc.integer({ min: 1, max: 50 }), async (records, piece) => {
      const count = records.length;
      const lines = records
        .sort((one, other) => one.id - other.id)
        .map(({ createdAt, ...members }, index) => ({
          ...{ type: 'note', ...members, number: count - index },
          ...{ created_at: createdAt?.toISOString() ?? null, updated_at: null },
        }));
      const lastIds = count === 0 ? {} : { changes: count, notes: lines.at(-1)?.id ?? 0 };
      const whole = [
        headLine({ counts: { ...NO_RECORDS, notes: count }, lastIds }),
        ...lines.map((line) => `${exportLine(line)}\n`),
        endLine(count),
      ].join('');
      const bytes = Buffer.from(whole);
      async function* pieces() {
        for (let start = 0; start < bytes.length; start += piece)
          yield bytes.subarray(start, start + piece);
      }
      const db = newFile(t);
      await runInProcess(['import', '--db', db], { input: pieces() });
      assert.equal(await exported(db), whole);
    }),
    { numRuns },
  );
}
