// Several requests on one connection without waiting for answers: they are handled one after the
// other.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { createGate, startBareServer, textRoute } from '../../support/bare-server.ts';
import { setLimits } from '../../support/overload.ts';
import { assertProblem, chunkedText, converse, NOTE, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const LAST = ['connection: close'];

const CREATE = requestText('POST /notes', [], NOTE);

const service = await startService({ after });
const totalOf = async () => (await service.request('GET', '/notes')).json.total;

test('pipelining: answers in the order of the requests', async () => {
  const targets = [
    ...['/notes', '/tags', '/nothing', '/health', '/docs', '/notes/1', '/openapi.json'],
    '/notes?limit=0',
  ];
  const last = requestText('GET /notes', LAST);
  const { answer, closed } = await converse(
    service,
    ...targets.map((target) => requestText(`GET ${target}`)),
    last,
  );
  for (const target of targets) {
    const alone = await service.request('GET', target);
    const { status, body } = await answer();
    assert.deepEqual([status, body], [alone.status, alone.text], target);
  }
  assert.equal((await answer()).status, 200);
  await closed();
});

test('pipelining: a request sees the writes before it, not those after', async (t) => {
  const fresh = await startService(t);
  const put = (title: string) =>
    requestText('PUT /notes/1', [], JSON.stringify({ title, body: 'b' }));
  const read = requestText('GET /notes/1');
  const remove = requestText('DELETE /notes/1');
  const [c, d, e] = ['c', 'd', 'e'].map(put);
  const last = requestText('GET /notes', LAST);
  const requests = [read, CREATE, read, c, read, d, e, read, remove, read, last];
  const { rest } = await converse(fresh, requests.join(''));
  const seen = (await rest()).map(({ status, body }) =>
    body === '' ? [status] : [status, JSON.parse(body).title],
  );
  assert.deepEqual(seen, [
    [404, 'Not Found'],
    [201, 'a'],
    [200, 'a'],
    [200, 'c'],
    [200, 'c'],
    [200, 'd'],
    [200, 'e'],
    [200, 'e'],
    [204],
    [404, 'Not Found'],
    [200, undefined],
  ]);
});

test('pipelining: bodies of all kinds end where they should', async () => {
  const { answer, closed } = await converse(
    service,
    requestText('GET /notes', [], 'a body that nobody asked for'),
    chunkedText('GET /notes', [], 'another one'),
    requestText('POST /notes', ['content-type: text/xml'], 'GET /evil HTTP/1.1\r\n\r\n'),
    requestText('POST /nothing', [], NOTE),
    requestText('HEAD /notes', [], NOTE),
    requestText('OPTIONS /notes', [], NOTE),
    chunkedText('POST /notes', [], NOTE),
    requestText('GET /notes/1', LAST),
  );
  const statuses = [];
  for (const method of ['GET', 'GET', 'POST', 'POST', 'HEAD', 'OPTIONS', 'POST', 'GET']) {
    statuses.push((await answer(method)).status);
  }
  await closed();
  assert.deepEqual(statuses, [200, 200, 415, 404, 200, 204, 201, 200]);
});

test('pipelining: earlier answers precede that to a malformed request', async () => {
  const ahead = requestText('GET /notes') + requestText('GET /tags');
  for (const [bad, slug] of [
    ['GET /no tes HTTP/1.1\r\n\r\n', 'bad-request'],
    ['nonsense\r\n\r\n', 'bad-request'],
    [`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'request-header-fields-too-large'],
    [requestText('CONNECT b:443'), 'method-not-allowed'],
  ] as const) {
    const { answer, closed } = await converse(service, ahead + bad);
    assert.deepEqual([(await answer()).status, (await answer()).status], [200, 200], slug);
    assertProblem(await answer(), slug);
    await closed();
  }
});

test('pipelining: a malformed request waits for a slow answer', async (t) => {
  const gate = createGate();
  const server = await startBareServer(t, [
    textRoute('GET', '/slow', () => gate.passed.then(() => 'done')),
  ]);
  const { socket, answer, closed } = await converse(
    server,
    requestText('GET /slow'),
    'nonsense\r\n\r\n',
  );
  for (let round = 0; round < 3; round += 1) {
    await new Promise<void>((resolve) => socket.write('more nonsense', () => resolve()));
  }
  assert.deepEqual([server.outcomes.length, server.refusals.length], [0, 0]);
  gate.open();
  assert.equal((await answer()).body, 'done');
  assertProblem(await answer(), 'bad-request');
  await closed();
  assert.deepEqual([server.outcomes.length, server.refusals.length], [1, 1]);
});

test('pipelining: nothing after an upgrade request is a request', async () => {
  const total = await totalOf();
  for (const name of ['h2c', 'websocket']) {
    const ahead = requestText('GET /notes', ['connection: Upgrade', `upgrade: ${name}`]);
    const around = requestText('POST /tags', [`content-length: ${CREATE.length}`]);
    for (const [first, later] of [
      [ahead + CREATE, ''],
      [ahead, CREATE],
      [ahead + around, CREATE],
    ] as const) {
      const { socket, answer, closed } = await converse(service, first);
      const { status, headers } = await answer();
      assert.deepEqual([status, headers.connection], [200, 'close'], name);
      socket.write(later);
      await closed();
    }
  }
  assert.equal(await totalOf(), total);
});

test('pipelining: nothing is carried out after an answer that closes', async () => {
  const total = await totalOf();
  const tooLarge = chunkedText('POST /notes', [], 'x'.repeat(1_100_000));
  const { answer, closed } = await converse(service, tooLarge, CREATE);
  const refusal = await answer();
  assertProblem(refusal, 'payload-too-large');
  assert.equal(refusal.headers.connection, 'close');
  await closed();
  assert.equal(await totalOf(), total);
});

test('pipelining: a waiting request is dropped after a reset', async (t) => {
  const started = createGate();
  const gate = createGate();
  let calls = 0;
  const slow = () => {
    started.open();
    return gate.passed.then(() => 'slow');
  };
  const next = () => {
    calls += 1;
    return 'next';
  };
  const server = await startBareServer(t, [
    textRoute('GET', '/slow', slow),
    textRoute('GET', '/next', next),
  ]);
  const { socket } = await converse(server, requestText('GET /slow') + requestText('GET /next'));
  await started.passed;
  socket.resetAndDestroy();
  gate.open();
  await until(() => server.outcomes.length > 0);
  await server.close();
  assert.deepEqual([server.outcomes.length, calls], [1, 0]);
});

test('pipelining: a flood after a slow request is not read', async (t) => {
  const gate = createGate();
  const server = await startBareServer(t, [
    textRoute('GET', '/slow', () => gate.passed.then(() => 'slow')),
    textRoute('GET', '/quick', () => 'quick'),
  ]);
  const count = 1_000;
  const quick = requestText('GET /quick', [`x: ${'y'.repeat(16_000)}`]);
  const { socket, rest } = await converse(
    server,
    requestText('GET /slow') + requestText('GET /slow'),
  );
  socket.write(quick.repeat(count));
  socket.write(requestText('GET /quick', LAST));
  let quiet = 0;
  let unsent = Number.NaN;
  // The buffers of the system fill quickly: if nothing has moved for many turns, the server does
  // not read.
  await until(() => {
    quiet = socket.writableLength === unsent ? quiet + 1 : 0;
    unsent = socket.writableLength;
    return quiet > 100;
  });
  const unread = unsent;
  gate.open();
  const answers = await rest();
  assert.ok(unread > 0, 'everything was read');
  assert.equal(answers.length, count + 3);
});

test('pipelining: a flood of bodies is read no faster than answered', async (t) => {
  const unhurried = () => new Promise<string>((resolve) => setImmediate(resolve, 'echo'));
  const server = await startBareServer(t, [textRoute('POST', '/echo', unhurried)]);
  const { socket, answer } = await converse(server);
  socket.write(requestText('POST /echo', [], ' '.repeat(899).concat('0')).repeat(16_000));
  for (let answered = 0; answered < 200; answered += 1) assert.equal((await answer()).body, 'echo');
  assert.ok(socket.writableLength > 0, 'everything was read');
  socket.destroy();
});

test('pipelining: a malformed body does not affect earlier requests', async () => {
  const total = await totalOf();
  const chunked = ['x-request-id: broken', 'transfer-encoding: chunked'];
  const brokenOnes = ['POST /notes', 'GET /notes', 'DELETE /notes/1'].map(
    (line) => `${requestText(line, chunked)}zz\r\n`,
  );
  for (const [index, broken] of brokenOnes.entries()) {
    const { answer, closed } = await converse(service, CREATE + broken);
    assert.equal((await answer()).status, 201);
    const last = await answer();
    assertProblem(last, 'bad-request');
    assert.equal(last.headers['x-request-id'], 'broken');
    await closed();
    assert.equal(await totalOf(), total + index + 1);
  }
  const refused = service.log.filter(({ message }) => message === 'refused');
  assert.equal(
    refused.filter(({ fields }) => fields.request_id === 'broken').length,
    brokenOnes.length,
  );
});

test('pipelining: a lone client gets all answers after a body that is ignored', async (t) => {
  const server = await startBareServer(t, [textRoute('GET', '/a', () => 'a')]);
  const ignored = chunkedText('POST /nothing', [], 'abc');
  const first = await converse(server, ignored + requestText('GET /a', LAST));
  assertProblem(await first.answer(), 'not-found');
  assert.equal((await first.answer()).status, 200);
  await first.closed();
  // What is malformed in the same packet takes precedence.
  const second = await converse(server, ignored.replace('\r\n0\r\n', '\r\nZ\r\n'));
  assertProblem(await second.answer(), 'bad-request');
});

/** Requests that take more than 15,000 bytes while they wait. */
const WAITING: Readonly<Record<string, string>> = {
  'many requests': requestText('GET /slow').repeat(60),
  'large heads': requestText('GET /slow', [`x: ${'y'.repeat(14_000)}`]).repeat(2),
  bodies: requestText('POST /echo', [], ' '.repeat(1_000)).repeat(40),
};

for (const [name, sent] of Object.entries(WAITING))
  test(`pipelining: the connection on which most waits is closed: ${name}`, async (t) => {
    setLimits(t, HTTP_LIMITS, { waitingBytes: 15_000 });
    const gate = createGate();
    const routes = [
      textRoute('GET', '/slow', () => gate.passed.then(() => 'slow')),
      textRoute('POST', '/echo', () => 'echo'),
    ];
    const server = await startBareServer(t, routes);
    const slow = requestText('GET /slow');
    const few = await converse(server, slow, slow);
    const many = await converse(server, slow, sent);
    await many.closed();
    // What it had waiting counts no more.
    const other = await converse(server, slow, slow.repeat(5));
    gate.open();
    for (let count = 0; count < 2; count += 1) assert.equal((await few.answer()).body, 'slow');
    for (let count = 0; count < 6; count += 1) assert.equal((await other.answer()).body, 'slow');
    few.socket.destroy();
    other.socket.destroy();
  });
