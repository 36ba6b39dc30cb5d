// Bodies that take more memory than their bytes unless their chunks are joined, and requests that
// arrive slowly or wait for others over many connections.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { request } from '../support/http.ts';
import { chunk, exchange, NOTE, requestText } from '../support/raw.ts';
import { residentMegabytesOf } from '../support/threads.ts';

/** If all were kept, they would take half as much again at least. */
const MOST_MEGABYTES = 450;

test('bodies: a million chunks of one byte in a small heap', async (t) => {
  // Kept apart, the chunks would take several hundred MB of heap.
  const command = startCommand(t, ['--port', '0'], { node: ['--max-old-space-size=64'] });
  const service = { port: Number(new URL(await command.ready()).port) };
  const start = requestText('POST /notes', ['transfer-encoding: chunked', 'connection: close']);
  const body = [...NOTE.padEnd(1_000_000)].map(chunk).join('');
  assert.equal((await exchange(service, start, body, '0\r\n\r\n')).status, 201);
  assert.equal((await stop(command)).status, 0);
});

/** Where the cores are busy, Node would collect garbage only from a larger heap. */
const HEAP = ['--max-old-space-size=256'];

const PART = 'x'.repeat(64_000);
const CHUNKED = ['transfer-encoding: chunked'];
const LENGTH = ['content-length: 65000'];
const POLL = requestText('GET /changes?since=CURSOR&wait=30');
const SMALL = 'GET / HTTP/1.1\r\nhost:localhost\r\n\r\n';

/** What each of many connections sends: incomplete requests, or some that wait for another. */
const FLOODS: Readonly<Record<string, readonly [connections: number, text: string]>> = {
  'bodies with a length': [9_000, requestText('POST /notes', LENGTH) + PART],
  'bodies in chunks': [9_000, requestText('POST /notes', CHUNKED) + chunk(PART)],
  'ignored bodies': [9_000, requestText('DELETE /notes/1', LENGTH) + PART],
  'waiting requests': [200, `${POLL}${SMALL.repeat(1_700)}`],
};

for (const [name, [connections, text]] of Object.entries(FLOODS))
  test(`bodies: ${name} over ${connections} connections`, async (t) => {
    // To read all of them can take longer than the connection of this test may be idle by default.
    const args = ['--port', '0', '--log-level', 'error', '--idle-timeout', '60'];
    const command = startCommand(t, args, { node: HEAP });
    const url = await command.ready();
    const port = Number(new URL(url).port);
    const { next } = (await request(url, 'GET', '/changes')).json;
    const before = residentMegabytesOf(command.process.pid);
    const sockets: Socket[] = [];
    t.after(() => sockets.map((socket) => socket.destroy()));
    for (let count = 0; count < connections; count += 1) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      sockets.push(socket.resume());
      // It is sent, or the service has closed the connection.
      const sent = new Promise<unknown>((resolve) => {
        socket.write(text.replace('CURSOR', next), resolve);
        socket.on('close', resolve);
      });
      if (count % 100 === 99) await sent;
    }
    assert.equal((await request(url, 'GET', '/livez')).status, 200);
    const grown = Math.round(residentMegabytesOf(command.process.pid) - before);
    t.diagnostic(`${grown} MB more`);
    assert.ok(grown < MOST_MEGABYTES, `${grown} MB`);
  });
