// How the log is written: to files, and to pipes that are slow, full or closed, which must not hold
// up the service. The pipes are FIFOs, as Node makes no others within one process.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  createReadStream,
  openSync,
  readFileSync,
  readSync,
  write,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { LineLog, pieceLength } from '../../../src/log/log.ts';
import { startCommand } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { converse, requestText } from '../../support/raw.ts';
import { until } from '../../support/until.ts';

/** The capacity of a pipe on Linux. */
const PIPE_BYTES = 65_536;

function fileTarget(test: TestContext) {
  const path = join(temporaryFolder(test), 'log');
  const target = openSync(path, 'a');
  test.after(() => closeSync(target));
  const lines = () =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(0, -1)
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { target, lines };
}

/**
 * Writes numbered lines of a thousand characters to a pipe, four times what it holds, and one more
 * when it is full. Its two ends are open, so that a write never blocks.
 */
async function writeMany(test: TestContext) {
  const path = join(temporaryFolder(test), 'pipe');
  execFileSync('mkfifo', [path]);
  const target = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  test.after(() => closeSync(target));
  const log = new LineLog('info', { target });
  const last = (4 * PIPE_BYTES) / 1_024;
  for (let number = 0; number < last; number += 1) log.write('info', 'x'.repeat(1_000), { number });
  await untilFull(target);
  log.write('info', 'last', { number: last });
  return { path, log, last };
}

const numbers = (lines: readonly { number: number }[]) => lines.map(({ number }) => number);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

test('log: a line has time, level, message, fields, and is not awaited', async (t) => {
  const { target, lines } = fileTarget(t);
  const log = new LineLog('info', { target });
  log.write('warn', 'a "message"\n', { number: 1, nothing: undefined, nested: { text: 'ü' } });
  assert.deepEqual(lines(), []);
  await until(() => lines().length > 0);
  const [{ time, ...rest }] = lines();
  assert.deepEqual(rest, {
    level: 'warn',
    message: 'a "message"\n',
    number: 1,
    nested: { text: 'ü' },
  });
  assert.ok(Math.abs(Date.now() - Date.parse(time)) < 60_000);
});

test('log: an error with its message, code, stack and causes', async (t) => {
  const { target, lines } = fileTarget(t);
  const cause = Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
  const log = new LineLog('error', { target });
  log.write('error', 'x', {
    error: new TypeError('outer', { cause: new Error('middle', { cause }) }),
  });
  log.flush();
  const { error } = lines()[0];
  assert.equal(error.message, 'outer');
  assert.match(error.stack, /^TypeError: outer\n {4}at .*log-writing\.test/);
  assert.equal(error.cause.message, 'middle');
  assert.deepEqual(
    [error.cause.cause.message, error.cause.cause.code],
    ['the disk is full', 'ENOSPC'],
  );
});

test('log: any thrown value, such as a cycle, a BigInt, undefined', async (t) => {
  const { target, lines } = fileTarget(t);
  const log = new LineLog('error', { target });
  const cycle = new Error('round and round');
  cycle.cause = cycle;
  for (const error of [cycle, { cycle: [cycle] }, 1n, 'text', null, undefined, Symbol('s')]) {
    log.write('error', 'thrown', { request_id: 'r', error });
  }
  log.flush();
  assert.deepEqual(
    lines().map(({ level, message, request_id }) => [level, message, request_id]),
    Array(7).fill(['error', 'thrown', 'r']),
  );
  assert.match(JSON.stringify(lines()[0]), /round and round/);
});

test('log: a level includes the more severe ones', (t) => {
  const severities = ['error', 'warn', 'info', 'debug'] as const;
  const written = (level: 'silent' | (typeof severities)[number]) => {
    const { target, lines } = fileTarget(t);
    const log = new LineLog(level, { target });
    for (const severity of severities) log.write(severity, 'x');
    log.flush();
    return lines().map((line) => line.level);
  };
  assert.deepEqual(written('silent'), []);
  for (const [index, level] of severities.entries())
    assert.deepEqual(written(level), severities.slice(0, index + 1));
});

test('log: a slow pipe gets every line whole and in order', async (t) => {
  const { path, last } = await writeMany(t);
  let text = '';
  const reader = createReadStream(path, 'utf8').on('data', (chunk) => {
    text += chunk;
  });
  await until(() => text.includes(`"number":${last}}\n`));
  reader.destroy();
  const lines = text.split('\n').filter((line) => line !== '');
  assert.deepEqual(numbers(lines.map((line) => JSON.parse(line))), upTo(last + 1));
});

test('log: a pipe gets whole lines, safe from other writers', async (t) => {
  const { path, last } = await writeMany(t);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  t.after(() => closeSync(reader));
  const held = Buffer.alloc(2 * PIPE_BYTES);
  const bytes = readSync(reader, held);
  assert.ok(bytes > PIPE_BYTES / 2, `${bytes}`);
  // The line breaks that filled the pipe come from another writer; they may not split a line.
  const lines = held.toString('utf8', 0, bytes).split('\n');
  const whole = lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  assert.deepEqual(numbers(whole), upTo(whole.length));
  assert.ok(whole.length > 0 && whole.length < last);
  // Read the rest as well: later it would go to another file with the same descriptor.
  const rest = () => held.toString('utf8', 0, readNow(reader, held));
  await until(() => rest().includes(`"number":${last}}\n`));
});

test('log: at most 4,096 bytes are written at once, unless a line is longer', () => {
  const written = (...lengths: number[]) =>
    pieceLength(Buffer.from(lengths.map((length) => `${'x'.repeat(length - 1)}\n`).join('')));
  assert.equal(written(4_000, 96), 4_096);
  assert.equal(written(4_000, 97), 4_000);
  assert.equal(written(4_000, 96, 1), 4_096);
  assert.equal(written(4_097, 1), 4_097);
});

test('log: flush resumes on a full pipe and waits for its reader', async (t) => {
  const { path, log, last } = await writeMany(t);
  // A process copies the pipe into a file, as flush blocks this one.
  const { target: copy, lines } = fileTarget(t);
  const reader = spawn('cat', [path], { stdio: ['ignore', copy, 'inherit'] });
  log.flush();
  await until(() => lines().length > last);
  reader.kill();
  await once(reader, 'close');
  assert.deepEqual(numbers(lines()), upTo(last + 1));
});

test('log: lines beyond the buffer are dropped and counted', async (t) => {
  const { target, lines } = fileTarget(t);
  const log = new LineLog('info', { target });
  const megabyte = 'x'.repeat(1_048_576);
  for (let number = 0; number < 20; number += 1) log.write('info', megabyte, { number });
  log.flush();
  const kept = lines();
  // Eight mebicharacters may wait; the line that crosses the limit is still accepted.
  assert.deepEqual(numbers(kept), upTo(8));
  log.write('info', 'next');
  log.write('info', 'after next');
  log.flush();
  const later = lines().slice(kept.length);
  assert.deepEqual(
    later.map(({ message, dropped_lines }) => [message, dropped_lines]),
    [
      ['next', 12],
      ['after next', undefined],
    ],
  );
});

for (const [state, requests] of [
  ['closed', 50],
  // Lines of some 300 bytes each: more than the stream and its reader buffer.
  ['full', 1_500],
] as const) {
  test(`log: a ${state} pipe delays neither the service nor its end`, async (t) => {
    const command = startCommand(t, ['--port', '0']);
    const url = await command.ready();
    const port = Number(new URL(url).port);
    if (state === 'closed') command.process.stderr?.destroy();
    else command.process.stderr?.pause();
    const get = requestText('GET /livez', [`x-request-id: ${'x'.repeat(128)}`]);
    const { rest } = await converse(
      { port },
      get.repeat(requests),
      requestText('GET /livez', ['connection: close']),
    );
    assert.equal(
      (await rest()).filter(({ status, body }) => status === 200 && body === 'ok\n').length,
      requests + 1,
    );
    assert.equal((await request(url, 'GET', '/health')).text, '{"status":"ok","db":"ok"}');
    const exit = once(command.process, 'exit');
    command.process.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
    command.process.stderr?.resume();
    const { stderr } = await command.ended;
    assert.ok(stderr.split('\n').length < requests, 'the pipe has not been full');
  });
}

function readNow(reader: number, into: Buffer): number {
  try {
    return readSync(reader, into);
  } catch {
    return 0;
  }
}

/** Fills the pipe; resolves once the log, which writes to it as well, has found it full. */
async function untilFull(target: number): Promise<void> {
  let refused = 0;
  while (refused < 10) {
    const code = await new Promise((resolve) =>
      write(target, '\n', (error) => resolve(error?.code)),
    );
    if (code !== undefined) refused += 1;
  }
}

test('log: in a thread it writes to standard error of the process', async () => {
  const thread = `
    import('${new URL('../../../src/log/log.js', import.meta.url)}').then(({ LineLog }) => {
      const log = new LineLog('info');
      log.write('info', 'written');
      log.flush();
    });`;
  const program = `
    new (require('node:worker_threads').Worker)(${JSON.stringify(thread)}, { eval: true })`;
  const { stderr } = await promisify(execFile)(process.execPath, ['--eval', program], {
    timeout: 30_000,
  });
  assert.equal(JSON.parse(stderr).message, 'written');
});
