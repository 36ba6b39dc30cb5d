// Commands on more data than they may keep in memory.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { newFile, openDatabase } from '../support/databases.ts';
import { filledFile } from '../support/filled.ts';
import { between } from '../support/random.ts';

const PRINT_PEAK =
  'process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS+"\\n"))';

/** More data than the heap, the cache of the database and the program could hold together. */
const NOTES = 120_000;
const MANY_WORDS_NOTES = 6_000;
const HEAP_MEGABYTES = 48;
const PEAK_MEGABYTES = 300;

/** Runs a command; asserts that it succeeds and how much memory it takes at most. */
async function assertBounded(t: TestContext, args: string[]): Promise<void> {
  const preload = `data:text/javascript,${encodeURIComponent(PRINT_PEAK)}`;
  const node = [`--max-old-space-size=${HEAP_MEGABYTES}`, '--import', preload];
  const { status, stdout, stderr } = await runCommand(t, args, { node });
  assert.equal(status, 0, stdout + stderr);
  const peak = Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1_024;
  t.diagnostic(`${args[0]}: ${Math.round(peak)} MB at most`);
  assert.ok(peak < PEAK_MEGABYTES, stderr);
}

test('export and import: memory stays bounded', async (t) => {
  const [from, file] = [await filledFile(t, NOTES), newFile(t)];
  await assertBounded(t, ['export', file, '--db', from]);
  await assertBounded(t, ['import', file, '--db', newFile(t)]);
});

/** The first and the last character of scripts with and without spaces, and of emoji. */
const SCRIPTS = ['az', 'ая', 'กฮ', 'ぁん', '一龠', '😀😿'].map((ends) =>
  [...ends].map((each) => each.codePointAt(0) ?? 0),
);

/** Returns a text with many words that no other text has. */
function textOfManyWords(): string {
  const words = Array.from({ length: 500 }, () => {
    const [first = 0, last = 0] = SCRIPTS[between(0, SCRIPTS.length - 1)] ?? [];
    const characters = Array.from({ length: between(1, 8) }, () => between(first, last));
    return String.fromCodePoint(...characters);
  });
  return words.join(' ');
}

test('check and repair: memory stays bounded, with many words', async (t) => {
  const path = newFile(t);
  const database = await openDatabase(t, path);
  for (let count = 0; count < MANY_WORDS_NOTES; count += 500) {
    const texts = Array.from({ length: 500 }, textOfManyWords);
    const sql = `INSERT INTO notes (title, body) SELECT 'many', value FROM json_each(?1)`;
    await database.transact([{ sql, parameter: JSON.stringify(texts) }]);
  }
  await database.close();
  await assertBounded(t, ['check', '--repair', path]);
  await assertBounded(t, ['check', path]);
});
