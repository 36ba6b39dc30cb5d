// The pretty log, and when it is written: on a terminal, or by the option.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { prettyLine } from '../../../src/log/pretty-line.ts';
import { startCommand, stop } from '../../support/command.ts';
import { request } from '../../support/http.ts';
import { hasTerminals, onTerminal } from '../../support/terminal.ts';

const NOTE = { title: 'a', body: 'b' };
const START = { time: '2026-11-22T05:53:11.042Z', level: 'info', message: 'request' };

/** Returns the pretty line with these fields, without its time. */
function pretty(fields: object): string {
  // A runner on a terminal may ask for colours.
  const line = stripVTControlCharacters(prettyLine({ ...START, ...fields }));
  assert.match(line, /^\d\d:53:11\.042 /);
  return line.slice(13);
}

test('log format: a request in words, other fields by name', () => {
  const request = { request_id: 'abc', method: 'GET', route: '/notes', ms: 1.2 };
  for (const [fields, line] of [
    [{ ...request, status: 200 }, 'INFO  GET /notes 200 1.2 ms request_id=abc'],
    [
      { ...request, level: 'warn', route: undefined, reason: 'so' },
      'WARN  GET - gone 1.2 ms request_id=abc reason=so',
    ],
    [{ message: 'keys reloaded', keys: 2, process: 7 }, 'INFO  keys reloaded keys=2 process=7'],
  ] as const)
    assert.equal(pretty(fields), line);
});

test('log format: an error with its stack and causes, indented', () => {
  const cause = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  const error = new TypeError('outer', { cause });
  const [first, second, ...rest] = pretty({ level: 'error', message: 'x', error }).split('\n');
  assert.deepEqual([first, second], ['ERROR x', '    TypeError: outer']);
  assert.ok(rest.every((line) => line.startsWith('    ')));
  assert.match(rest.join('\n'), /\[cause\]: Error: the disk is full[\s\S]*ENOSPC/);
});

test('log format: any thrown value', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const error of [cycle, 10n, null, 'text', Symbol('x'), () => {}, new Proxy({}, {})])
    assert.match(pretty({ message: 'x', error, nested: cycle }), /^INFO {2}x nested=<ref/);
});

test('log format: control characters are escaped', () => {
  const evil = 'a\u001b[2Jb\nc\rd\u009b31me\u0000\u007f';
  const line = pretty({ message: evil, x: evil, error: new Error(evil) });
  assert.doesNotMatch(line.replaceAll('\n    ', ''), /\p{Cc}/u);
  const shown = 'INFO  a\\x1b[2Jb\\x0ac\\x0dd\\x9b31me\\x00\\x7f x=a\\x1b[2Jb\\x0ac';
  assert.ok(line.startsWith(shown), line);
});

test('log format: pretty on request, where there is no terminal', async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-format', 'pretty']);
  await request(await command.ready(), 'POST', '/notes', { json: NOTE });
  const { stderr } = await stop(command);
  assert.match(
    stderr,
    /^[\d:.]{12} INFO {2}POST \/notes 201 [\d.]+ ms request_id=\S{36} client=127\.0\.0\.1 ids=/m,
  );
});

test('log format: on a terminal pretty, with colours or NO_COLOR', async (t) => {
  if (!hasTerminals(t)) return;
  assert.match(
    (await onTerminal(t, '')).replaceAll('\u001b', '^'),
    /\^\[32mINFO \^\[39m POST \/notes 201 /,
  );
  assert.match(
    await onTerminal(t, '', { NO_COLOR: '1' }),
    /^[\d:.]{12} INFO {2}POST \/notes 201 /m,
  );
  assert.match(await onTerminal(t, '--log-format json'), /^\{"time":.*"status":201/m);
});
