// Runs the tests, those of several files in one process: to start Node, to load the service and to
// compile it takes longer than the tests of most files. `node test/run.mjs PLACE...` runs these
// folders and files of dist/test, by default all but endurance.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import reporter, { listFiles } from './support/reporter.mjs';

/** How long the tests of a process may take, if one of them does not let the event loop turn. */
const MAX_PROCESS_MS = 600_000;
const FILES_OF_PROCESS = 12;
const CONCURRENCY = 4;

const built = fileURLToPath(new URL('../dist/test', import.meta.url));
/** No folder of tests has this place. */
const entriesFolder = fileURLToPath(new URL('../dist/test-entries', import.meta.url));
const wanted = process.argv.slice(2);

function isWanted(path) {
  if (wanted.length === 0) return dirname(path) !== 'endurance';
  return wanted.some((place) => isAt(place, path));
}

function isAt(place, path) {
  return place === path || place === dirname(path);
}

/** Returns the wanted test files of each process. */
function filesByProcess() {
  // From the sources, so that a test that has not been built fails.
  const files = readdirSync(fileURLToPath(new URL('.', import.meta.url)), { recursive: true })
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
    .map((path) => path.replace(/ts$/, 'js'))
    .filter(isWanted)
    .sort();
  const missing = wanted.filter((place) => !files.some((path) => isAt(place, path)));
  if (missing.length > 0) {
    process.stderr.write(`There are no tests in ${missing.join(', ')} (see README.md).\n`);
    process.exit(1);
  }
  const groups = [];
  for (let next = 0; next < files.length; next += FILES_OF_PROCESS)
    groups.push(files.slice(next, next + FILES_OF_PROCESS));
  return groups;
}

/** Writes the module that runs `files`, and returns its path. */
function writeEntry(files, index) {
  const entry = join(entriesFolder, `${index}.mjs`);
  const module = new URL('support/run-files.mjs', import.meta.url);
  const args = JSON.stringify([files.map((path) => join(built, path)), reportOf(entry)]);
  writeFileSync(entry, `import { runFiles } from '${module}';\nawait runFiles(...${args});\n`);
  return entry;
}

/** Where a process reports the CPU time of its files. */
function reportOf(entry) {
  return entry.replace('.mjs', '.json');
}

// First, because it may end the process.
const groups = filesByProcess();
rmSync(entriesFolder, { recursive: true, force: true });
mkdirSync(entriesFolder, { recursive: true });
const entries = groups.map(writeEntry);
const events = run({
  files: entries,
  concurrency: CONCURRENCY,
  timeout: MAX_PROCESS_MS,
});
events.on('test:fail', () => {
  process.exitCode = 1;
});
for await (const text of reporter(events)) process.stdout.write(text);
const reports = entries.map(reportOf).filter((report) => existsSync(report));
const cpuMs = reports.flatMap((report) => JSON.parse(readFileSync(report, 'utf8')));
process.stdout.write(listFiles('The most CPU time', cpuMs));
