// Export and import of more data than they may keep in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { newFile } from '../support/databases.ts';
import { filledFile } from '../support/filled.ts';

const PRINT_PEAK =
  'process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS+"\\n"))';

/** More data than the heap, the cache of the database and the program could hold together. */
const NOTES = 120_000;
const HEAP_MEGABYTES = 48;
const PEAK_MEGABYTES = 300;

test('export and import: memory stays bounded', async (t) => {
  const preload = `data:text/javascript,${encodeURIComponent(PRINT_PEAK)}`;
  const node = [`--max-old-space-size=${HEAP_MEGABYTES}`, '--import', preload];
  const [from, file] = [await filledFile(t, NOTES), newFile(t)];
  for (const args of [
    ['export', file, '--db', from],
    ['import', file, '--db', newFile(t)],
  ]) {
    const { status, stderr } = await runCommand(t, args, { node });
    assert.equal(status, 0, stderr);
    const peak = Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1_024;
    t.diagnostic(`${args[0]}: ${Math.round(peak)} MB at most`);
    assert.ok(peak < PEAK_MEGABYTES, stderr);
  }
});
