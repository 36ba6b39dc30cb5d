// As many connections as are allowed, on each of which half a request has arrived.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { startCommand } from '../support/command.ts';
import { exchangeLast, requestText } from '../support/raw.ts';
import { until } from '../support/until.ts';

const ROUNDS = 20;
const MAX_MS = 1_000;

const HALVES: Readonly<Record<string, string>> = {
  head: 'GET /notes HTTP/1.1\r\nhost: localhost\r\n',
  body: `${requestText('POST /notes', ['content-length: 100'])}{`,
};

for (const [name, half] of Object.entries(HALVES))
  test(`half-sent requests: ${HTTP_LIMITS.connections} with half a ${name}`, async (t) => {
    const command = startCommand(t, ['--port', '0', '--log-level', 'error']);
    const port = Number(new URL(await command.ready()).port);
    const sockets = new Set<Socket>();
    let isOver = false;
    let open = 0;
    const attack = () => {
      if (isOver) return;
      const socket = connect(port, '127.0.0.1', () => socket.write(half));
      sockets.add(socket);
      socket.once('connect', () => {
        open += 1;
      });
      socket.on('error', () => {});
      socket.resume().on('close', () => {
        sockets.delete(socket);
        open -= 1;
        setTimeout(attack, 1_000).unref();
      });
    };
    t.after(() => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    });
    for (let count = 0; count < HTTP_LIMITS.connections; count += 1) {
      attack();
      if (count % 100 === 0) await until(() => open > count - 500);
    }
    await until(() => open >= HTTP_LIMITS.connections - 500);
    // Accepted after all of them.
    assert.equal((await exchangeLast({ port }, 'GET /livez')).status, 200);
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const startMs = performance.now();
      assert.equal((await exchangeLast({ port }, 'GET /livez')).status, 200);
      times.push(Math.round(performance.now() - startMs));
    }
    t.diagnostic(`${open} are open; ms: ${times}`);
    assert.ok(Math.max(...times) < MAX_MS, `${times} ms`);
  });
