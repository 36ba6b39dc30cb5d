// Runs the tests, those of a folder in one process: to start Node and to load the service takes
// longer than the tests of most files. `node test/run.mjs PLACE...` runs these folders and files of
// dist/test, by default all but endurance.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import reporter from './support/reporter.mjs';

/** How long the tests of a folder may take, if one of them does not let the event loop turn. */
const MAX_FOLDER_MS = 600_000;
const CONCURRENCY = 4;

const built = fileURLToPath(new URL('../dist/test', import.meta.url));
const wanted = process.argv.slice(2);

function isWanted(path) {
  if (wanted.length === 0) return dirname(path) !== 'endurance';
  return wanted.includes(dirname(path)) || wanted.includes(path);
}

/** Returns the wanted test files of each folder. */
function filesByFolder() {
  const files = readdirSync(built, { recursive: true })
    .filter((path) => path.endsWith('.test.js') && isWanted(path))
    .sort();
  const folders = [...new Set(files.map((path) => dirname(path)))];
  return folders.map((folder) => [folder, files.filter((path) => dirname(path) === folder)]);
}

/** Writes the module that runs `files`, and returns its path. */
function writeEntry([folder, files]) {
  const entry = join(built, 'folders', `${folder.replaceAll('/', '-')}.mjs`);
  const module = new URL('support/run-files.mjs', import.meta.url);
  const paths = JSON.stringify(files.map((path) => join(built, path)));
  writeFileSync(entry, `import { runFiles } from '${module}';\nawait runFiles(${paths});\n`);
  return entry;
}

mkdirSync(join(built, 'folders'), { recursive: true });
// The largest first, so that none is left for a core alone at the end.
const folders = filesByFolder().sort(([, a], [, b]) => b.length - a.length);
if (folders.length === 0) throw new Error(`no tests in ${wanted}`);
const events = run({
  files: folders.map(writeEntry),
  concurrency: CONCURRENCY,
  timeout: MAX_FOLDER_MS,
});
events.on('test:fail', () => {
  process.exitCode = 1;
});
for await (const text of reporter(events)) process.stdout.write(text);
