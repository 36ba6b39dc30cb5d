// Streams and the rest of the service: limits, keys, log, metrics, old clients.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DISPATCH_LIMITS } from '../../../src/http/limits.ts';
import type { Chunk } from '../../../src/http/reply.ts';
import type { Route } from '../../../src/http/route.ts';
import { createGate, startBareServer } from '../../support/bare-server.ts';
import { openStream } from '../../support/event-stream.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import { send } from '../../support/http.ts';
import { setLimits } from '../../support/overload.ts';
import { openSocket, readAll, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const EVENTS = { accept: 'text/event-stream' };
const NOTE = { json: { title: 'a', body: 'b' } };

test('streams: at most so many', async (t) => {
  setLimits(t, DISPATCH_LIMITS, { streams: 2 });
  const service = await startService(t);
  const streams = [await openStream(t, service.url), await openStream(t, service.url)];
  const refused = await service.request('GET', '/changes', { headers: EVENTS });
  assert.deepEqual([refused.status, refused.json.detail], [503, 'Too many streams are open.']);
  assert.equal((await send(service.url, 'HEAD', '/changes', { headers: EVENTS })).status, 503);
  assert.equal((await service.request('GET', '/changes')).status, 200);
  streams[0]?.close();
  await until(() => service.log.some(({ message }) => message === 'stream ended'));
  await service.request('POST', '/notes', NOTE);
  const third = await openStream(t, service.url);
  await service.request('POST', '/notes', NOTE);
  await Promise.all([third.changes(1), streams[1]?.changes(2)]);
});

test('streams: logged at both ends, and counted while open, without a duration', async (t) => {
  const service = await startService(t);
  const metrics = async () => (await service.request('GET', '/metrics')).text;
  const read = async (name: string) => sampleOf(parseExposition(await metrics()), name);
  const stream = await openStream(t, service.url, '/changes', { 'x-request-id': 'my-stream' });
  await until(async () => (await read('notes_streams_open')) === 1);
  assert.equal(await read('http_server_active_requests'), 1);
  stream.close();
  await until(async () => (await read('notes_streams_open')) === 0);
  assert.doesNotMatch(await metrics(), /request_duration.*http_route="\/changes"/);
  const lines = service.log.filter(({ fields }) => fields.request_id === 'my-stream');
  assert.deepEqual(
    lines.map(({ level, message, fields }) => [level, message, fields.route, fields.status]),
    [
      ['info', 'stream opened', '/changes', 200],
      ['info', 'stream ended', '/changes', 200],
    ],
  );
});

test('streams: opening one counts as one request, and other origins may read it', async (t) => {
  const origin = 'https://app.example';
  const service = await startService(t, { rateLimit: 2, corsOrigins: [origin] });
  for (let count = 0; count < 2; count += 1) {
    const { headers } = await openStream(t, service.url, '/changes', { origin });
    assert.equal(headers['access-control-allow-origin'], origin);
  }
  const refused = await service.request('GET', '/changes', { headers: EVENTS });
  assert.equal(refused.status, 429);
});

test('streams: one is the last answer of its connection', async (t) => {
  const service = await startService(t);
  const socket = await openSocket(service);
  const all = readAll(socket);
  const post = requestText('POST /notes', [], '{"title":"a","body":"b"}');
  socket.write(requestText('GET /changes', ['accept: text/event-stream']) + post);
  await until(() => service.log.some(({ message }) => message === 'stream opened'));
  assert.equal((await service.request('GET', '/notes')).json.total, 0);
  await service.close();
  const text = await all;
  assert.match(text, /^HTTP\/1\.1 200 .*connection: close/is);
  assert.doesNotMatch(text, /HTTP.*HTTP/s);
});

test('streams: an old client gets them without chunks, until the end', async (t) => {
  const service = await startService(t);
  const socket = await openSocket(service);
  const all = readAll(socket);
  socket.write('GET /changes HTTP/1.0\r\naccept: text/event-stream\r\n\r\n');
  await until(() => service.log.some(({ message }) => message === 'stream opened'));
  await service.request('POST', '/notes', NOTE);
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  await until(() => received.includes('note.created'));
  await service.close();
  const [head = '', body = ''] = (await all).split(/\r\n\r\n/);
  assert.doesNotMatch(head, /transfer-encoding|content-length/i);
  assert.match(head, /connection: close/i);
  assert.match(
    body,
    /^: changes\nretry: 3000\nid: .*-0\n\nid: .*-1\nevent: note.created\ndata: .*\n\n$/,
  );
});

test('streams: one that fails is cut off visibly, and of a HEAD nothing is read', async (t) => {
  let ended = 0;
  let gate = createGate();
  async function* failing(): AsyncGenerator<Chunk> {
    try {
      yield { bytes: Buffer.alloc(0), hasMore: true };
      yield { bytes: Buffer.from('one\n'), hasMore: true };
      await gate.passed;
      throw new Error('it failed');
    } finally {
      ended += 1;
    }
  }
  const route: Route = {
    method: 'GET',
    template: '/failing',
    async handle() {
      const stream = failing();
      await stream.next();
      return { status: 200, stream };
    },
  };
  const server = await startBareServer(t, [route]);
  for (const version of ['1.1', '1.0']) {
    gate = createGate();
    const socket = await openSocket(server);
    const received = readAll(socket);
    let last = '';
    socket.on('data', (text) => {
      last = String(text);
    });
    socket.write(requestText('GET /failing').replace('1.1', version));
    // Node takes a reset that arrives with data for an end.
    await until(() => last.includes('one'));
    gate.open();
    await received;
    assert.equal((socket.errored as NodeJS.ErrnoException | null)?.code, 'ECONNRESET');
  }
  const head = await openSocket(server);
  head.write(requestText('HEAD /failing', ['connection: close']));
  assert.match(await readAll(head), /^HTTP\/1\.1 200 /);
  await until(() => ended === 3);
});

test('streams: a chunk of any length reaches a client that reads', async (t) => {
  // More than the client may leave unread, and than the sockets buffer.
  const large = Buffer.alloc(16 * 1_048_576, 'a chunk, ');
  async function* chunks(): AsyncGenerator<Chunk> {
    yield { bytes: large, hasMore: false };
    await nextTurn();
    yield { bytes: Buffer.from('end'), hasMore: false };
  }
  const handle = () => ({ status: 200, stream: chunks() });
  const { port } = await startBareServer(t, [{ method: 'GET', template: '/large', handle }]);
  const { bytes } = await send(`http://127.0.0.1:${port}`, 'GET', '/large');
  assert.ok(bytes.equals(Buffer.concat([large, Buffer.from('end')])), `${bytes.length} bytes`);
});
