// Clients that send a byte now and then to hold connections open: they are disconnected in time,
// and until then others are served as before.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { startBareServer, textRoute } from '../support/bare-server.ts';
import { startCommand } from '../support/command.ts';
import { assertProblem, openSocket, readAll, requestText, takeAnswer } from '../support/raw.ts';
import { watchHealth } from '../support/threads.ts';

const CLIENTS = 500;
const GONE_AFTER_MS = 10_000;
/** Far more than an answer takes, and far less than a wait behind the slow clients would. */
const P99_WITHIN_MS = 1_000;
const ALONE = 500;

/** What a client sends at once, and what it then sends byte by byte. */
type Start = readonly [atOnce: string, byteByByte: string];

const ENDLESS = 'y'.repeat(900);
const IN_HEADERS: readonly Start[] = [
  ['G', `ET /${ENDLESS}`],
  ['GET /health', ENDLESS],
  ['GET /health HTTP/1.1\r\nho', ENDLESS],
  ['GET /health HTTP/1.1\r\nhost: localhost\r\nx: ', ENDLESS],
];
const IN_BODIES: readonly Start[] = [
  [requestText('POST /echo', ['content-length: 1000']), ENDLESS],
  [`${requestText('POST /echo', ['transfer-encoding: chunked'])}3e8\r\n`, ENDLESS],
];

/**
 * Opens connections that begin with one of `starts` and then send a byte every `everyMs`. Resolves
 * when the service has closed all of them, each with a 408, with the duration of the longest one in
 * ms.
 */
async function trickle(port: number, starts: readonly Start[], everyMs: number): Promise<number> {
  const lives = Array.from({ length: CLIENTS }, async (_, index) => {
    const [atOnce, byteByByte] = starts[index % starts.length] ?? assert.fail();
    const opened = performance.now();
    const socket = await openSocket({ port });
    socket.write(atOnce);
    let next = 0;
    const timer = setInterval(() => socket.write(byteByByte.charAt(next++)), everyMs);
    const answer = await readAll(socket);
    clearInterval(timer);
    assertTimedOut(Buffer.from(answer));
    return performance.now() - opened;
  });
  return Math.max(...(await Promise.all(lives)));
}

function assertTimedOut(received: Buffer): void {
  const { answer, length } = takeAnswer(received) ?? assert.fail(`no answer: ${received}`);
  assertProblem(answer, 'request-timeout');
  assert.equal(answer.headers.connection, 'close');
  assert.equal(length, received.length);
}

/** Asserts that 99 % of the answers to others are quick while `work` is under way. */
async function compare(t: TestContext, port: number, work: () => Promise<unknown>): Promise<void> {
  let rest = ALONE;
  const alone = p99(await watchHealth({ port }, () => rest-- > 0));
  let done = false;
  const during = watchHealth({ port }, () => !done);
  await work().finally(() => {
    done = true;
  });
  const beside = p99(await during);
  t.diagnostic(
    `p99 of the others: ${alone.toFixed(2)} ms alone, ` +
      `${beside.toFixed(2)} ms beside ${CLIENTS} slow clients`,
  );
  assert.ok(beside < P99_WITHIN_MS, `${beside} ms`);
}

function p99(times: number[]): number {
  return times.sort((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
}

test(`slow senders: ${CLIENTS} bodies byte by byte`, async (t) => {
  const routes = [
    textRoute('GET', '/health', () => 'ok'),
    textRoute('POST', '/echo', () => 'echo'),
  ];
  const limits = { headersTimeoutMs: 2_000, requestTimeoutMs: 2_000, checkIntervalMs: 50 };
  const { port } = await startBareServer(t, routes, limits);
  await compare(t, port, async () => {
    const longest = await trickle(port, IN_BODIES, 250);
    assert.ok(longest < limits.requestTimeoutMs + GONE_AFTER_MS, `${longest} ms`);
  });
});

test(`slow senders: ${CLIENTS} headers, a byte every 5 s, with the real limit`, async (t) => {
  const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
  const port = Number(new URL(await command.ready()).port);
  await compare(t, port, async () => {
    const longest = await trickle(port, IN_HEADERS, 5_000);
    t.diagnostic(`the last was disconnected after ${Math.round(longest)} ms`);
    assert.ok(longest < HTTP_LIMITS.headersTimeoutMs + GONE_AFTER_MS, `${longest} ms`);
  });
});
