// An answer that is sent before the body has arrived: it arrives whole, even if the client reads it
// only after it has sent everything.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import {
  type BareServer,
  createGate,
  startBareServer,
  textRoute,
} from '../../support/bare-server.ts';
import { setLimits } from '../../support/overload.ts';
import { stopQuotas } from '../../support/rate-limiter.ts';
import { chunk, chunkedText, converse, requestText, sendThenRead } from '../../support/raw.ts';
import { type Overrides, startService } from '../../support/service.ts';

// More than the system takes before the service reads.
const SIZE = 6_000_000;

/** The version of HTTP and a header, by how the request wants its connection to end. */
const CONNECTIONS = {
  'HTTP/1.0': ['HTTP/1.0', ''],
  'connection: close': ['HTTP/1.1', 'connection: close\r\n'],
  'keep-alive': ['HTTP/1.1', ''],
} as const;

const PIECE = 'x'.repeat(100_000);
const BODIES: readonly (readonly [header: string, body: Buffer])[] = [
  [`content-length: ${SIZE}`, Buffer.alloc(SIZE, PIECE)],
  ['transfer-encoding: chunked', Buffer.from(chunk(PIECE).repeat(SIZE / PIECE.length))],
];

const MANY = Array.from({ length: 101 }, (_, index) => `x-${index}: y\r\n`).join('');

/** The status, the request line without its version, and headers. */
type Early = readonly [status: number, line: string, headers?: string];

const EARLY: readonly Early[] = [
  [200, 'GET /notes'],
  [200, 'HEAD /notes'],
  [200, 'GET /health'],
  [204, 'OPTIONS /notes'],
  [400, 'POST /notes?%zz'],
  [403, 'POST /notes', 'sec-fetch-site: cross-site\r\n'],
  [404, 'POST /nothing'],
  // Who sends at once although it expects a 100.
  [404, 'POST /nothing', 'expect: 100-continue\r\n'],
  [415, 'PUT /notes/1', 'expect: 100-continue\r\ncontent-type: text/xml\r\n'],
  [405, 'PATCH /notes'],
  [415, 'PUT /notes/1', 'content-type: text/xml\r\n'],
  [431, 'POST /notes', MANY],
  // Node's parser refuses these.
  [400, 'POST /no tes'],
  [405, 'CONNECT b:443'],
  [431, 'POST /notes', `x: ${'y'.repeat(20_000)}\r\n`],
];

// On a busy machine, a client may take long to send all that it sends.
setLimits({ after }, HTTP_LIMITS, { drainMs: 30_000 });
stopQuotas({ after });

const services: readonly (readonly [Overrides, readonly Early[]])[] = [
  [{ bodyLimitBytes: 2 * SIZE }, EARLY],
  [{ apiKeys: ['key'] }, [[401, 'POST /notes']]],
  [{}, [[413, 'POST /notes']]],
  [{ rateLimit: 1 }, [[429, 'POST /notes']]],
];

const started = await Promise.all(services.map(([options]) => startService({ after }, options)));
// The only request that the last one allows.
await started.at(-1)?.request('GET', '/notes');

for (const [index, [, requests]] of services.entries())
  for (const [status, line, headers = ''] of requests)
    for (const [name, [version, closing]] of Object.entries(CONNECTIONS))
      test(`early answers: ${status} to ${line}, ${name}`, async () => {
        for (const [framing, body] of BODIES) {
          if (version === 'HTTP/1.0' && framing.startsWith('transfer-encoding')) continue;
          const fields = `host: localhost\r\n${closing}${headers}${framing}\r\n`;
          const head = `${line} ${version}\r\n${fields}\r\n`;
          const answer = await sendThenRead(started[index] ?? assert.fail(), head, body);
          assert.equal(answer.status, status, framing);
        }
      });

const [, [, CHUNKS] = ['', Buffer.alloc(0)]] = BODIES;
const LARGE = textRoute('GET', '/large', () => 'y'.repeat(SIZE));

test('early answers: one larger than the system takes at once', async (t) => {
  const server = await startBareServer(t, [LARGE]);
  for (const closing of ['', 'connection: close\r\n']) {
    const head = `GET /large HTTP/1.1\r\nhost: a\r\n${closing}transfer-encoding: chunked\r\n\r\n`;
    assert.equal((await sendThenRead(server, head, CHUNKS)).body.length, SIZE);
  }
});

test('early answers: the last one, before further requests', async (t) => {
  const server = await startBareServer(t, [LARGE, textRoute('POST', '/echo', () => 'echo')]);
  const others = Buffer.alloc(SIZE, requestText('GET /large'));
  for (const tooLarge of [
    requestText('POST /echo', [], PIECE),
    chunkedText('POST /echo', [], PIECE),
  ])
    assert.equal((await sendThenRead(server, tooLarge, others)).status, 413);
});

const PATIENCE = { timeout: 20_000 };
const ENDLESS = ['transfer-encoding: chunked'];
const NO_END = [
  requestText('POST /nothing', ['content-length: 999']),
  requestText('POST /nothing', ENDLESS),
  requestText('POST /nothing', [...ENDLESS, 'connection: close']),
  `${requestText('POST /nothing', ENDLESS)}zz`,
  requestText('CONNECT b:443'),
  'nonsense\r\n\r\n',
];

/** Sends `text`, and resolves when the answer has arrived. The connection stays open. */
async function open({ port }: BareServer, text: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {}).write(text);
  await once(socket, 'data');
  return socket.resume();
}

/** Goes on sending until the service has closed the connection. */
async function sendOn(socket: Socket): Promise<void> {
  while (!socket.closed) {
    if (socket.writable) socket.write(chunk('x'));
    await delay(5);
  }
}

const SHORT = { headersTimeoutMs: 200, requestTimeoutMs: 200, checkIntervalMs: 25 };
const LONG_MS = 600_000;

for (const [what, limits] of Object.entries({
  long: { drainMs: 100 },
  much: { drainMs: LONG_MS, drainBytes: 1_000 },
}))
  test(`early answers: who goes on sending too ${what} is cut off`, PATIENCE, async (t) => {
    const server = await startBareServer(t, [LARGE], { ...SHORT, ...limits });
    await Promise.all(NO_END.map(async (text) => sendOn(await open(server, text))));
  });

test('early answers: who goes on sending does not hold up a stop', PATIENCE, async (t) => {
  const gate = createGate();
  const slow = textRoute('GET', '/slow', () => gate.passed.then(() => 'slow'));
  const limits = { drainMs: LONG_MS, closeMs: 30_000, graceMs: 50 };
  const server = await startBareServer(t, [LARGE, slow], limits);
  const late = open(server, requestText('GET /slow', ENDLESS));
  const sockets = await Promise.all(NO_END.map((text) => open(server, text)));
  const closed = server.close();
  await Promise.all(sockets.map(sendOn));
  gate.open();
  await closed;
  await sendOn(await late);
});

test('early answers: a body that is ignored is not kept until the answer', async (t) => {
  const gate = createGate();
  const server = await startBareServer(t, [
    textRoute('GET', '/slow', () => gate.passed.then(() => 'slow')),
  ]);
  const { socket, answer } = await converse(
    server,
    requestText('GET /slow', ['transfer-encoding: chunked']),
  );
  const piece = chunk(PIECE);
  // More than the system takes.
  for (let count = 0; count < 500; count += 1)
    if (!socket.write(piece)) await once(socket, 'drain');
  gate.open();
  assert.equal((await answer()).body, 'slow');
  socket.destroy();
});
