// Clients that close only their sending side, as `nc -N` does: they get their answers. Whether one
// still reads is found out by asking.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { createGate, startBareServer, textRoute } from '../../support/bare-server.ts';
import { converse, NOTE, openSocket, readAll, requestText } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const COUNTER = '{"workers":2,"count":5}';
const service = await startService({ after });

/** Sends `text` and closes the sending side; resolves with all that arrives. */
async function sendAndEnd(server: { port: number }, text: string): Promise<string> {
  const socket = await openSocket(server);
  socket.end(text);
  return readAll(socket);
}

const REQUESTS = {
  'GET /health': [200, ''],
  'GET /livez': [200, ''],
  'GET /notes': [200, ''],
  'HEAD /notes': [200, ''],
  'GET /docs': [200, ''],
  'OPTIONS /notes': [204, ''],
  'GET /nothing': [404, ''],
  'PATCH /notes': [405, NOTE],
  'POST /notes': [201, NOTE],
  'GET /notes/1': [200, ''],
  'PUT /notes/1': [200, NOTE],
  'PATCH /notes/1': [200, '{"title":"c"}'],
  'DELETE /notes/1': [204, ''],
  'POST /tags': [422, '{}'],
  'POST /counter/increment': [200, COUNTER],
} as const;

test('half-closed: each request gets its answer, and the connection ends', async () => {
  for (const [index, version] of ['HTTP/1.1', 'HTTP/1.0'].entries())
    for (const [line, [status, body]] of Object.entries(REQUESTS)) {
      const path = line.replace('/1', `/${index + 1}`);
      const text = requestText(path, [], body).replace('HTTP/1.1', version);
      const answer = await sendAndEnd(service, text);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), `${version} ${line}`);
      assert.equal(answer.match(/HTTP\/1/g)?.length, 1);
    }
});

test('half-closed: incomplete and malformed bodies are refused, for upgrades too', async () => {
  const bodies = {
    'content-length: 25': NOTE,
    'transfer-encoding: chunked': `18\r\n${NOTE}`,
    'Transfer-Encoding: chunked': `17\r\n${NOTE}\r\n0\r\n\r\n`,
  };
  const writes = ['POST /notes', 'PUT /notes/1', 'PATCH /notes/1', 'DELETE /notes/1'];
  for (const line of [...writes, 'POST /counter/increment'])
    for (const [framing, body] of Object.entries(bodies))
      for (const upgrade of [[], ['connection: Upgrade', 'upgrade: h2c']]) {
        const text = requestText(line, [...upgrade, framing]) + body;
        const answer = await sendAndEnd(service, text);
        assert.match(answer, /^HTTP\/1\.1 400 /, text);
        assert.equal(answer.match(/HTTP\/1/g)?.length, 1);
      }
});

test('half-closed: pipelined requests get all answers', async () => {
  const { socket, answer, closed } = await converse(service, requestText('GET /health').repeat(3));
  socket.end(requestText('GET /livez'));
  for (let count = 0; count < 3; count += 1) assert.equal((await answer()).status, 200);
  assert.equal((await answer()).status, 200);
  await closed();
});

test('half-closed: streams and long polls end', async () => {
  const { next } = (await service.request('GET', '/changes')).json;
  const stream = requestText('GET /changes', ['accept: text/event-stream']);
  assert.match(
    await sendAndEnd(service, stream),
    /^HTTP\/1\.1 200 .*text\/event-stream.*0\r\n\r\n$/s,
  );
  const poll = requestText(`GET /changes?since=${next}&wait=30`);
  assert.match(await sendAndEnd(service, poll), /^HTTP\/1\.1 200 .*"items":\[\]/s);
  // The same once they wait.
  for (const text of [stream, poll]) {
    const socket = await openSocket(service);
    const received = readAll(socket);
    socket.write(text);
    await service.request('GET', '/health');
    socket.end();
    assert.match(await received, /^HTTP\/1\.1 200 /);
  }
  await until(async () =>
    /^notes_streams_open 0$/m.test((await service.request('GET', '/metrics')).text),
  );
});

test('half-closed: who waits is asked whether it still reads', async (t) => {
  const gate = createGate();
  const aborted: unknown[] = [];
  const slow = textRoute('GET', '/slow', async (call) => {
    call.signal().addEventListener('abort', () => aborted.push(call.headers['x-who']));
    await gate.passed;
    return 'slow';
  });
  const server = await startBareServer(t, [slow], { probeMs: 20 });
  const request = (who: string) => requestText('GET /slow', [`x-who: ${who}`]);
  const reading = await converse(server, request('reading'));
  reading.socket.end();
  assert.deepEqual(await reading.answer(), { status: 102, headers: {}, body: '' });
  // It is not asked, and must not count as gone.
  const old = sendAndEnd(server, request('old').replace('HTTP/1.1', 'HTTP/1.0'));
  const gone = await converse(server, request('gone'));
  gone.socket.destroy();
  await until(() => aborted.length === 1);
  assert.deepEqual(aborted, ['gone']);
  gate.open();
  assert.match(await old, /^HTTP\/1\.1 200 .*\r\n\r\nslow$/s);
  let last = await reading.answer();
  while (last.status === 102) last = await reading.answer();
  assert.deepEqual([last.status, last.headers.connection, last.body], [200, 'close', 'slow']);
  await reading.closed();
  assert.ok(HTTP_LIMITS.probeMs >= 1_000, 'the usual answer would come after a question');
});
