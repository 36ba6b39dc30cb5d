// Reports tests as node-test-reporter does, but without its spinner where no terminal shows it.
// At the end it lists the files that took longest, and where each test failed and why: the package
// leaves out the message of an assertion that compares values. Positions are those in the sources.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import report from 'node-test-reporter';

/** The package prints this before each line of the spinner, and before what replaces it. */
const CLEAR_LINE = '\r\x1b[K';

const SLOWEST_FILES = 10;
const MAX_PLACES = 5;

/** A line of a stack: a file, a line and a column. */
const FRAME = /^ +at .*?(?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?$/gm;

/** Yields the report of a run of `node --test` or run.mjs. */
export default async function* reporter(events) {
  const seen = { failures: [], running: new Map(), msByFile: new Map() };
  for await (const text of report(observe(events, seen))) {
    if (process.stdout.isTTY) yield text;
    else if (!isSpinner(text)) yield text.replaceAll(CLEAR_LINE, '');
  }
  yield listFiles('The longest time', [...seen.msByFile]);
  if (seen.failures.length > 0) {
    const unended = [...seen.running.values()].map(
      (test) => `${test.name}\n${atLine(sourceOf(test))}  did not end\n`,
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
    let place = type === 'test:diagnostic' ? sourceOf(data) : undefined;
    if (type === 'test:dequeue' && data.name !== data.file) running.set(test, data);
    if (type === 'test:pass' || type === 'test:fail') {
      running.delete(test);
      // run.mjs makes a suite of each file.
      const isFile = data.name.endsWith('.test.js');
      const file = isFile ? data.name : data.file;
      if (data.nesting === 0)
        msByFile.set(file, (msByFile.get(file) ?? 0) + data.details.duration_ms);
      const { error } = data.details;
      // A test whose subtests failed has no message of its own.
      const hasReason = type === 'test:fail' && error.failureType !== 'subtestsFailed';
      if (isFile && !hasReason) continue;
      if (hasReason) {
        const places = placesOf(data);
        failures.push({ ...data, places });
        if (!isFile) place = places.at(-1);
      }
    }
    yield place ? { type, data: { ...data, ...place } } : event;
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

function describe({ name, details, places }) {
  const { cause } = details.error;
  const message = String(cause?.message ?? cause).replace(/^(?=.)/gm, '  ');
  return `${name}\n${places.map(atLine).join('')}${message}\n`;
}

function atLine({ file, line, column }) {
  return `  at ${relative('', file)}:${line}:${column}\n`;
}

/** Returns the sources of the stack's first lines in the project; the last is in the test's file. */
function placesOf({ file, line, column, details }) {
  const frames = [...String(details.error.cause?.stack).matchAll(FRAME)]
    .map(([, path, atLine, atColumn]) => ({ file: path, line: atLine, column: atColumn }))
    .filter((frame) => !/^\.\.|\bnode_modules\b/.test(relative('', frame.file)));
  const end = frames.findLastIndex((frame) => frame.file === file);
  // Some stacks do not reach the test: then the last place is its beginning.
  const [inner, own] =
    end === -1 ? [frames, { file, line, column }] : [frames.slice(0, end), frames[end]];
  return [...inner.slice(0, MAX_PLACES - 1), own].map(sourceOf);
}

/** Returns the place in the source from which a file was compiled, if it was. */
function sourceOf({ file, line, column }) {
  try {
    const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
    const { originalSource, originalLine, originalColumn } = map.findEntry(line - 1, column - 1);
    const source = join(dirname(file), originalSource);
    return { file: source, line: originalLine + 1, column: originalColumn + 1 };
  } catch {
    return { file, line, column };
  }
}
