// Clients that send a byte now and then to hold connections open: they are disconnected in time,
// and until then others are served as before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBareServer, textRoute } from '../support/bare-server.ts';
import { assertProblem, openSocket, readAll, requestText, takeAnswer } from '../support/raw.ts';
import { watchHealth } from '../support/threads.ts';

const CLIENTS = 500;
const GONE_AFTER_MS = 10_000;
/** Far more than an answer takes, and far less than a wait behind the slow clients would. */
const P99_WITHIN_MS = 1_000;

/** What a client sends at once, before it sends a byte now and then. */
const STARTS = [
  requestText('POST /echo', ['content-length: 1000']),
  `${requestText('POST /echo', ['transfer-encoding: chunked'])}3e8\r\n`,
];
const BYTE_EVERY_MS = 250;

/**
 * Opens connections that send a byte now and then. Resolves when the service has closed all of
 * them, each with a 408, with the duration of the longest one in ms.
 */
async function trickle(port: number): Promise<number> {
  const lives = Array.from({ length: CLIENTS }, async (_, index) => {
    const opened = performance.now();
    const socket = await openSocket({ port });
    socket.write(STARTS[index % STARTS.length] ?? assert.fail());
    const timer = setInterval(() => socket.write('y'), BYTE_EVERY_MS);
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

test(`slow senders: ${CLIENTS} bodies byte by byte do not delay others`, async (t) => {
  const routes = [
    textRoute('GET', '/health', () => 'ok'),
    textRoute('POST', '/echo', () => 'echo'),
  ];
  const limits = { headersTimeoutMs: 2_000, requestTimeoutMs: 2_000, checkIntervalMs: 50 };
  const { port } = await startBareServer(t, routes, limits);
  let isOver = false;
  const others = watchHealth({ port }, () => !isOver);
  const longest = await trickle(port).finally(() => {
    isOver = true;
  });
  const times = (await others).sort((one, other) => one - other);
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0;
  t.diagnostic(`p99 of the others: ${p99.toFixed(2)} ms`);
  assert.ok(p99 < P99_WITHIN_MS, `${p99} ms`);
  assert.ok(longest < limits.requestTimeoutMs + GONE_AFTER_MS, `${longest} ms`);
});
