// Reports tests as node-test-reporter does, but without its spinner where no terminal shows it.
// At the end it lists the files that took longest, and where each test failed and why: the package
// leaves out the message of an assertion that compares values.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import report from 'node-test-reporter';

/** The package prints this before each line of the spinner, and before what replaces it. */
const CLEAR_LINE = '\r\x1b[K';

const SLOWEST_FILES = 10;

/** Yields the report of a run of `node --test` or run.mjs. */
export default async function* reporter(events) {
  const seen = { failures: [], running: new Map(), msByFile: new Map() };
  for await (const text of report(observe(events, seen))) {
    if (process.stdout.isTTY) yield text;
    else if (!isSpinner(text)) yield text.replaceAll(CLEAR_LINE, '');
  }
  yield listFiles('The longest time', [...seen.msByFile]);
  if (seen.failures.length > 0) {
    const unended = [...seen.running.values()].map(({ name, file, line, column }) =>
      [name, `  at ${positionOf(file, line, column)}`, '  did not end\n'].join('\n'),
    );
    yield `Why they failed:\n\n${[...seen.failures.map(describe), ...unended].join('\n')}`;
  }
}

function isSpinner(text) {
  return text.startsWith(CLEAR_LINE) && !text.endsWith('\n');
}

/** Yields the events, and gathers the failures, the tests that run, and the time of each file. */
async function* observe(events, { failures, running, msByFile }) {
  for await (const event of events) {
    const { type, data } = event;
    const test = [data.file, data.line, data.name].join();
    if (type === 'test:dequeue' && data.name !== data.file) running.set(test, data);
    if (type === 'test:pass' || type === 'test:fail') {
      running.delete(test);
      // run.mjs makes a suite of each file.
      const isFile = data.name.endsWith('.test.js');
      const file = isFile ? data.name : data.file;
      if (data.nesting === 0)
        msByFile.set(file, (msByFile.get(file) ?? 0) + data.details.duration_ms);
      if (isFile && type === 'test:pass') continue;
    }
    // A test whose subtests failed has no message of its own.
    if (type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed')
      failures.push(data);
    yield event;
  }
}

/** Lists the files with the most of a time, in seconds; those that run at once have it together. */
export function listFiles(title, msByFile) {
  const files = msByFile.sort(([, one], [, other]) => other - one);
  const lines = files
    .slice(0, SLOWEST_FILES)
    .map(
      ([file, ms]) =>
        `  ${seconds(ms)}  ${relative('', file).replace(/^dist\/(.*)\.js$/, '$1.ts')}\n`,
    );
  const sum = files.reduce((total, [, ms]) => total + ms, 0);
  return `${title} of ${files.length} files (s):\n\n${lines.join('')}  ${seconds(sum)}  all\n\n`;
}

function seconds(ms) {
  return (ms / 1_000).toFixed(1).padStart(6);
}

function describe({ name, file, line, column, details }) {
  const { cause } = details.error;
  const message = String(cause?.message ?? cause).replace(/^(?=.)/gm, '  ');
  // The stack names the failing line, the event only the beginning of the test.
  const frame = String(cause?.stack).split(`${file}:`)[1] ?? `${line}:${column}`;
  const [failedLine, failedColumn] = frame.match(/\d+/g);
  return `${name}\n  at ${positionOf(file, failedLine, failedColumn)}\n${message}\n`;
}

/** Returns the position in the source from which `file` was compiled, if it was. */
function positionOf(file, line, column) {
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
    const { originalSource, originalLine, originalColumn } = map.findEntry(line - 1, column - 1);
    const source = relative('', join(dirname(file), originalSource));
    return `${source}:${originalLine + 1}:${originalColumn + 1}`;
  } catch {
    return `${relative('', file)}:${line}:${column}`;
  }
}
