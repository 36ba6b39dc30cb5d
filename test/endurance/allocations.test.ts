// What a request allocates on the JavaScript heap, measured without garbage collection. Unlike
// seconds, bytes are the same on every machine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startCommand, stop } from '../support/command.ts';
import { NOTE, openSocket, requestText } from '../support/raw.ts';

const REQUESTS = 2_000;
const ROUNDS = 3;

/** A module that prints the size of the heap at each SIGUSR2. */
const PROBE = `data:text/javascript,let count = 0;
process.on('SIGUSR2', () => {
  count += 1;
  process.stderr.write(\`heap \${count}: \${process.memoryUsage().heapUsed}\\n\`);
});`;
/** Room for all rounds: a collection would hide allocations. */
const NO_COLLECTION = ['--min-semi-space-size=128', '--max-semi-space-size=128'];

const SEARCH = requestText('GET /notes?limit=1&q=a');
const CREATE = requestText('POST /notes', ['content-type: application/json'], NOTE);

/** A twentieth more bytes than on the version of Node that allocates most. */
const PATHS = [
  { name: 'GET /notes/{id}', text: requestText('GET /notes/1'), most: 14_100 },
  { name: 'POST /notes', text: CREATE, most: 37_900 },
];

async function send(socket: Socket, text: string, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    socket.write(text);
    assert.match(await receive(socket), /^HTTP\/1\.1 20[01] .*\}$/s);
  }
}

/** Resolves with an answer; one of this size arrives in one piece. */
async function receive(socket: Socket): Promise<string> {
  const [answer] = await once(socket, 'data');
  return String(answer);
}

async function catchUp(socket: Socket): Promise<void> {
  for (;;) {
    socket.write(SEARCH);
    const answer = await receive(socket);
    if (answer.startsWith('HTTP/1.1 200 ')) return;
    const [, seconds] = /^HTTP\/1\.1 503 .*\r\nretry-after: (\d+)\r\n/s.exec(answer) ?? [];
    assert.ok(seconds, answer);
    await delay(1_000 * Number(seconds));
  }
}

test('allocations: bounded for each request', async (t) => {
  const node = ['--import', PROBE, ...NO_COLLECTION];
  const command = startCommand(t, ['--port', '0', '--log-level', 'error'], { node });
  const socket = await openSocket({ port: Number(new URL(await command.ready()).port) });
  let probes = 0;
  const probe = async () => {
    probes += 1;
    command.process.kill('SIGUSR2');
    await command.says(`heap ${probes}: `);
  };
  await send(socket, CREATE, 1);
  for (const { text } of PATHS) {
    await send(socket, text, REQUESTS);
    await catchUp(socket);
    for (let round = 0; round < ROUNDS; round += 1) {
      await probe();
      await send(socket, text, REQUESTS);
      // The work for the index belongs to the round that causes it.
      await catchUp(socket);
      await probe();
    }
  }
  socket.destroy();
  const { stderr } = await stop(command);
  const heap = [...stderr.matchAll(/^heap \d+: (\d+)$/gm)].map(([, bytes]) => Number(bytes));
  for (const [place, { name, most }] of PATHS.entries()) {
    const grown = Array.from({ length: ROUNDS }, (_, round) => {
      const at = 2 * (place * ROUNDS + round);
      return ((heap[at + 1] ?? 0) - (heap[at] ?? 0)) / REQUESTS;
    });
    // A collection in between makes it less.
    const bytes = Math.round(Math.max(...grown));
    t.diagnostic(`${name}: ${bytes} bytes`);
    assert.ok(bytes > 0 && bytes < most, `${name} allocates ${bytes} bytes`);
  }
});
