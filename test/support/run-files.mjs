// Runs files of tests one after the other in this process, for run.mjs.
import { readFileSync, writeFileSync } from 'node:fs';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

/** How long the tests of a file may take, and each of them: one that hangs must not hang the run. */
const MAX_FILE_MS = 180_000;

/** Linux counts hundredths of a second. */
const TICK_MS = 10;

/**
 * Runs the tests of each file, and what it does after all of them, before the next is loaded. Writes
 * the CPU time of each in ms to `report`.
 */
export async function runFiles(files, report) {
  const used = [];
  let before = cpuMs();
  for (const file of files) {
    await suite(file, { timeout: MAX_FILE_MS }, () => import(pathToFileURL(file)));
    const now = cpuMs();
    used.push([file, now - before]);
    before = now;
  }
  writeFileSync(report, JSON.stringify(used));
}

/** Returns the CPU time of this process and, where the system tells it, of those it has started. */
function cpuMs() {
  if (process.platform !== 'linux') return process.cpuUsage().user / 1_000;
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  return (
    TICK_MS *
    fields
      .split(' ')
      .slice(11, 15)
      .map(Number)
      .reduce((sum, each) => sum + each)
  );
}
