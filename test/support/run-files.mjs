// Runs files of tests one after the other in this process, for run.mjs.
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

/** How long the tests of a file may take, and each of them: one that hangs must not hang the run. */
const MAX_FILE_MS = 180_000;

/** Runs the tests of each file, and what it does after all of them, before the next is loaded. */
export async function runFiles(files) {
  for (const file of files)
    await suite(file, { timeout: MAX_FILE_MS }, () => import(pathToFileURL(file)));
}
