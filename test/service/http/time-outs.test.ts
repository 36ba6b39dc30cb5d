// A client that does not send in time gets a 408; one that waits for an answer may wait. The limits
// are short here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { createGate, startBareServer, textRoute } from '../../support/bare-server.ts';
import { assertProblem, chunk, converse, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const LIMITS = {
  headersTimeoutMs: 150,
  requestTimeoutMs: 300,
  keepAliveTimeoutMs: 100,
  checkIntervalMs: 25,
};
const LENGTH = 'content-length: 100';

const quick = textRoute('GET', '/quick', () => 'quick');
const echo = textRoute('POST', '/echo', () => 'echo');

test('time-outs: the real limits', () => {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, checkIntervalMs } = HTTP_LIMITS;
  assert.deepEqual(
    [headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs],
    [10_000, 30_000, 5_000],
  );
  assert.deepEqual([HTTP_LIMITS.bytesPerMs, HTTP_LIMITS.slowRequestMs], [4, 300_000]);
  assert.deepEqual([HTTP_LIMITS.headerBytes, HTTP_LIMITS.headerCount], [16_384, 100]);
  assert.ok(checkIntervalMs <= 1_000, 'time-outs would come late');
});

test('time-outs: an incomplete request is 408, wherever it stopped', async (t) => {
  const server = await startBareServer(t, [quick, echo], LIMITS);
  const starts = {
    nothing: '',
    'half a request line': 'GET /qu',
    'half a header': 'GET /quick HTTP/1.1\r\nho',
    'headers without their end': 'GET /quick HTTP/1.1\r\nhost: a\r\n',
    'half a body': `${requestText('POST /echo', [LENGTH])}{`,
    'half a chunk': `${requestText('POST /echo', ['transfer-encoding: chunked'])}5\r\nhe`,
    'chunks without their end':
      requestText('POST /echo', ['transfer-encoding: chunked']) + chunk('{}'),
    'a body that was asked for': requestText('POST /echo', ['expect: 100-continue', LENGTH]),
  };
  const timedOut = Object.entries(starts).map(async ([name, start]) => {
    const { answer, closed } = await converse(server, start);
    const first = await answer();
    const last = first.status === 100 ? await answer() : first;
    assertProblem(last, 'request-timeout');
    assert.equal(last.headers.connection, 'close', name);
    await closed();
  });
  await Promise.all(timedOut);
  assert.deepEqual(
    server.refusals.map(({ slug }) => slug),
    Object.keys(starts).map(() => 'request-timeout'),
  );
  // The handlers of those whose headers had arrived end.
  await until(() => server.outcomes.length === 4);
  assert.ok(server.outcomes.every(({ status, error }) => !status && !error));
});

test('time-outs: headers have less time than the whole request', async (t) => {
  const server = await startBareServer(t, [quick, echo], { ...LIMITS, requestTimeoutMs: 60_000 });
  const inBody = await converse(server, requestText('POST /echo', ['content-length: 2']));
  const inHeaders = await converse(server, 'GET /quick HTTP/1.1\r\nhost: a\r\n');
  assertProblem(await inHeaders.answer(), 'request-timeout');
  inBody.socket.write('{}');
  assert.equal((await inBody.answer()).body, 'echo');
});

test('time-outs: a request that arrives byte by byte is 408', async (t) => {
  const server = await startBareServer(t, [quick, echo], LIMITS);
  for (const [start, drop] of [
    ['GET /quick HTTP/1.1\r\nhost: a\r\n', 'x: y\r\n'],
    [requestText('POST /echo', ['transfer-encoding: chunked']), chunk(' ')],
  ] as const) {
    const { socket, answer } = await converse(server, start);
    const trickle = setInterval(() => socket.write(drop), 10);
    socket.once('data', () => clearInterval(trickle));
    assertProblem(await answer(), 'request-timeout');
  }
});

test('time-outs: a body that keeps arriving is not cut off, but not for ever', async (t) => {
  for (const [slowRequestMs, isAnswered] of [
    [60_000, true],
    [450, false],
  ] as const) {
    const limits = { ...LIMITS, bytesPerMs: 0.1, slowRequestMs };
    const server = await startBareServer(t, [quick, echo], limits);
    for (const [header, part, end] of [
      ['content-length: 450', ' '.repeat(10), ''],
      ['transfer-encoding: chunked', chunk(' '.repeat(10)), '0\r\n\r\n'],
    ] as const) {
      const { socket, answer } = await converse(server, requestText('POST /echo', [header]));
      let left = 45;
      const sending = setInterval(() => {
        left -= 1;
        socket.write(left === 0 ? `${part.replace(' ', '1')}${end}` : part);
        if (left === 0) clearInterval(sending);
      }, LIMITS.requestTimeoutMs / 20);
      socket.once('data', () => clearInterval(sending));
      const reply = await answer();
      if (isAnswered) assert.equal(reply.body, 'echo');
      else assertProblem(reply, 'request-timeout');
    }
  }
});

test('time-outs: an answer may take longer than a request', async (t) => {
  const gate = createGate();
  const server = await startBareServer(
    t,
    [textRoute('GET', '/slow', () => gate.passed.then(() => 'slow'))],
    LIMITS,
  );
  const alone = await converse(server, requestText('GET /slow'));
  const before = await converse(server, `${requestText('GET /slow')}GET /sl`);
  // Sent after these, and out of time: they would have been so too.
  const { answer } = await converse(server, 'GET /sl');
  assertProblem(await answer(), 'request-timeout');
  const half = await converse(server, requestText('POST /slow', [LENGTH]));
  assert.equal((await half.answer()).status, 405);
  await half.closed();
  gate.open();
  assert.equal((await alone.answer()).body, 'slow');
  assert.equal((await before.answer()).body, 'slow');
  assertProblem(await before.answer(), 'request-timeout');
  await before.closed();
});

test('time-outs: no 408 for an unused body after the answer', async (t) => {
  const server = await startBareServer(t, [quick], LIMITS);
  for (const header of [LENGTH, 'transfer-encoding: chunked']) {
    const { answer, closed } = await converse(server, requestText('GET /quick', [header]));
    assert.equal((await answer()).body, 'quick');
    await closed();
  }
});

test('time-outs: an idle connection is closed', async (t) => {
  const server = await startBareServer(t, [quick], {
    ...LIMITS,
    headersTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
  });
  const { answer, closed } = await converse(server, requestText('GET /quick'));
  assert.equal((await answer()).headers.connection, 'keep-alive');
  await closed();
});

test('time-outs: the option sets how long a connection is idle', async (t) => {
  const service = await startService(t, { idleTimeoutS: 75 });
  const { answer, socket } = await converse(service, requestText('GET /livez'));
  assert.equal((await answer()).headers['keep-alive'], 'timeout=75');
  socket.destroy();
});

test('time-outs: a client that does not read loses its connection', async (t) => {
  const large = textRoute('GET', '/large', () => 'x'.repeat(64 * 1_048_576));
  const server = await startBareServer(t, [large], { ...LIMITS, stalledMs: 300 });
  // This process holds both ends. That of the client, which does not read, stays open.
  const ends = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const { socket } = await converse(server, requestText('GET /large'));
  socket.pause();
  await until(() => server.outcomes.length === 1);
  const before = ends();
  await until(() => ends() < before);
  socket.destroy();
});
