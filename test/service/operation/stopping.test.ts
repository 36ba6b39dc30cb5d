// The stop: requests in flight finish, idle connections do not delay it, and nothing outlives the
// deadline. The time limit of each test is below the deadline that the test must not need.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { HTTP_LIMITS } from '../../../src/http/limits.ts';
import {
  type BareServer,
  createGate,
  startBareServer,
  textRoute,
} from '../../support/bare-server.ts';
import {
  assertProblem,
  chunk,
  converse,
  exchangeLast,
  openSocket,
  readAll,
  refusal,
  requestText,
} from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { stopUnderLoad } from '../../support/stops.ts';
import { until } from '../../support/until.ts';

const SOON = { timeout: 30_000 };
/** More than the buffers of a connection hold. */
const LARGE = 8_000_000;
const LENGTH = 'content-length: 2';

async function startGated(
  test: Parameters<typeof startBareServer>[0],
  limits: Partial<typeof HTTP_LIMITS> = {},
) {
  const gate = createGate();
  let waiting = 0;
  const slow = () => {
    waiting += 1;
    return gate.passed.then(() => 'slow');
  };
  const routes = [
    textRoute('GET', '/slow', slow),
    textRoute('GET', '/quick', () => 'quick'),
    textRoute('GET', '/large', () => 'x'.repeat(LARGE)),
    textRoute('POST', '/echo', () => 'echo'),
  ];
  const server = await startBareServer(test, routes, { closeMs: 60_000, ...limits });
  return { server, gate, waiting: () => waiting };
}

/** Resolves with the unread socket when `outcomes` requests have their answers. */
async function requestLarge(server: BareServer, behind = '', outcomes = 1) {
  const socket = await openSocket(server);
  socket.pause();
  socket.write(requestText('GET /large') + behind);
  await until(() => server.outcomes.length === outcomes);
  return socket;
}

test('stop: pipelined requests are all answered', SOON, async (t) => {
  const { server, gate, waiting } = await startGated(t);
  const { rest } = await converse(
    server,
    requestText('GET /slow') + requestText('GET /quick') + requestText('GET /slow'),
  );
  await until(() => waiting() === 1);
  const closed = server.close();
  await refusal(server);
  gate.open();
  const answers = await rest();
  assert.equal(answers.map(({ body }) => body).join(), 'slow,quick,slow');
  assert.equal(answers.at(-1)?.headers.connection, 'close');
  await closed;
});

test('stop: silent and idle connections do not delay it', SOON, async (t) => {
  const { server } = await startGated(t, { keepAliveTimeoutMs: 60_000 });
  const silent = [await converse(server), await converse(server)];
  const idle = await converse(server, requestText('GET /quick'));
  assert.equal((await idle.answer()).headers.connection, 'keep-alive');
  await server.close();
  for (const { closed } of [...silent, idle]) await closed();
});

test('stop: a half-sent request is answered once it is complete', SOON, async (t) => {
  const { server } = await startGated(t);
  const inHeaders = await converse(server, 'GET /quick HTTP/1.1\r\nhos');
  const inBody = await converse(server, requestText('POST /echo', [LENGTH]));
  // Once a later connection has its answer, the halves before it have been read.
  await exchangeLast(server, 'GET /quick');
  const closed = server.close();
  inHeaders.socket.write('t: a\r\n\r\n');
  inBody.socket.write('{}');
  for (const [{ answer, closed: ended }, text] of [
    [inHeaders, 'quick'],
    [inBody, 'echo'],
  ] as const) {
    const { body, headers } = await answer();
    assert.deepEqual([body, headers.connection], [text, 'close']);
    await ended();
  }
  await closed;
});

for (const behind of ['', 'GET /quick', 'CONNECT b:443']) {
  const name = behind === '' ? '' : `, ${behind} behind it`;

  test(`stop: an answer under way arrives whole and delays no others${name}`, SOON, async (t) => {
    const { server } = await startGated(t, { keepAliveTimeoutMs: 60_000, graceMs: 1 });
    const idle = await converse(server, requestText('GET /quick'));
    await idle.answer();
    const socket = await requestLarge(server, behind && requestText(behind), 2);
    const closed = server.close();
    await refusal(server);
    idle.socket.write(requestText('GET /quick'));
    assert.equal((await idle.answer()).headers.connection, 'close');
    await idle.closed();
    const text = await readAll(socket.resume());
    assert.equal(/\r\n\r\n(x*)/.exec(text)?.[1]?.length, LARGE);
    if (behind !== '')
      assert.match(text.slice(LARGE), /xHTTP\/1\.1 (?:200 OK|405 Method Not Allowed)\r\n/);
    await closed;
  });

  test(`stop: the deadline ends an unread answer${name}`, SOON, async (t) => {
    const { server } = await startGated(t, { closeMs: 100 });
    const socket = await requestLarge(server, behind && requestText(behind));
    await server.close();
    socket.destroy();
  });
}

test('stop: the deadline ends half-sent and endless requests', SOON, async (t) => {
  const { server, waiting } = await startGated(t, { closeMs: 100 });
  const starts = [
    'GET /qu',
    requestText('POST /echo', [LENGTH]),
    requestText('POST /echo', ['transfer-encoding: chunked']) + chunk('{'),
    `${requestText('GET /quick')}GET /qu`,
    requestText('GET /slow'),
  ];
  const conversations = await Promise.all(starts.map((start) => converse(server, start)));
  await until(() => waiting() === 1);
  await exchangeLast(server, 'GET /quick');
  await server.close();
  for (const { socket } of conversations) {
    if (!socket.closed) await once(socket, 'close');
  }
});

test('stop: the deadline aborts handlers before the stop ends', SOON, async (t) => {
  const signals: AbortSignal[] = [];
  const hanging = textRoute('GET', '/', (call) => {
    signals.push(call.signal());
    return new Promise(() => {});
  });
  const server = await startBareServer(t, [hanging], { closeMs: 100 });
  for (let client = 0; client < 20; client += 1) await converse(server, requestText('GET /'));
  await until(() => signals.length === 20);
  await server.close();
  assert.deepEqual(new Set(signals.map(({ aborted }) => aborted)), new Set([true]));
});

test('stop: connections with a refusal do not delay it', SOON, async (t) => {
  const { server } = await startGated(t);
  const malformed = await converse(server, 'nonsense\r\n\r\n');
  const tunnel = await converse(server, requestText('CONNECT b:443'));
  const tooLong = await converse(server, requestText('POST /echo', ['content-length: 1000000']));
  assertProblem(await malformed.answer(), 'bad-request');
  assertProblem(await tunnel.answer(), 'method-not-allowed');
  assertProblem(await tooLong.answer(), 'payload-too-large');
  await server.close();
});

test('stop: requests sent just before it are answered', SOON, async (t) => {
  const { server } = await startGated(t, { keepAliveTimeoutMs: 60_000 });
  const fresh = await converse(server);
  const idle = await converse(server, requestText('GET /quick'));
  assert.equal((await idle.answer()).headers.connection, 'keep-alive');
  const closed = server.close();
  for (const { socket, answer, closed: ended } of [fresh, idle]) {
    socket.write(requestText('GET /quick'));
    const { body, headers } = await answer();
    assert.deepEqual([body, headers.connection], ['quick', 'close']);
    await ended();
  }
  await closed;
});

test('stop: connections that wait to be accepted are served', SOON, async (t) => {
  const { server } = await startGated(t, { graceMs: 20_000 });
  // The server accepts one connection in each tick, which is later than the system connects them.
  const conversations = await Promise.all(
    Array.from({ length: 50 }, () => converse(server, requestText('GET /quick'))),
  );
  assert.ok(server.outcomes.length < conversations.length, String(server.outcomes.length));
  const closed = server.close();
  for (const { answer } of conversations) assert.equal((await answer()).body, 'quick');
  await closed;
});

test('stop: a request behind an answer that began before is answered', SOON, async (t) => {
  const { server } = await startGated(t, { keepAliveTimeoutMs: 60_000 });
  const socket = await requestLarge(server);
  const closed = server.close();
  await refusal(server);
  let received = 0;
  socket.on('data', (bytes) => {
    received += bytes.length;
  });
  socket.resume();
  await until(() => received > LARGE);
  const rest = readAll(socket);
  socket.write(requestText('GET /quick'));
  assert.match(await rest, /^x*HTTP\/1\.1 200 OK\r\n.*connection: close\r\n.*quick$/is);
  await closed;
});

test('stop: from then on the health check is 503', SOON, async (t) => {
  const service = await startService(t);
  const { socket, answer } = await converse(service);
  assert.equal((await service.request('GET', '/health')).status, 200);
  const closed = service.close();
  socket.write(requestText('GET /health'));
  const refused = await answer();
  const { detail } = assertProblem(refused, 'service-unavailable');
  assert.equal(detail, 'The service is shutting down.');
  assert.deepEqual([refused.headers['retry-after'], refused.headers.connection], ['1', 'close']);
  await closed;
});

test('stop: SIGTERM under load drops nobody and loses nothing', (t) =>
  stopUnderLoad(t, { stops: 1, clients: 8, answers: 50, processes: 1 }));
