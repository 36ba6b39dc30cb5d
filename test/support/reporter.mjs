// Reports tests as node-test-reporter does, but without its spinner where no terminal shows it.
// At the end it lists where each test failed and why: the package leaves out the message of an
// assertion that compares values.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import report from 'node-test-reporter';

/** The package prints this before each line of the spinner, and before what replaces it. */
const CLEAR_LINE = '\r\x1b[K';

/** Yields the report of a run of `node --test`. */
export default async function* reporter(events) {
  const failures = [];
  for await (const text of report(collectFailures(events, failures))) {
    if (process.stdout.isTTY) yield text;
    else if (!isSpinner(text)) yield text.replaceAll(CLEAR_LINE, '');
  }
  if (failures.length > 0) yield `Why they failed:\n\n${failures.map(describe).join('\n')}`;
}

function isSpinner(text) {
  return text.startsWith(CLEAR_LINE) && !text.endsWith('\n');
}

async function* collectFailures(events, failures) {
  for await (const event of events) {
    const { type, data } = event;
    // A test whose subtests failed has no message of its own.
    if (type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed')
      failures.push(data);
    yield event;
  }
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
