// Ports at which a service can be started again, and servers that stand in for another program.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Ends } from './engine.ts';

/** Below the ports that Linux gives to connections and to servers at port 0. */
const FIRST = 20_000;
const LAST = 32_000;

/** Resolves with free ports that no other program gets by chance while nobody listens there. */
export async function lastingPorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  while (servers.length < count) {
    const server = createServer().listen(randomInt(FIRST, LAST), '127.0.0.1');
    await once(server, 'listening').then(
      () => servers.push(server),
      () => {},
    );
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Resolves with one of {@link lastingPorts}. */
export async function lastingPort(): Promise<number> {
  const [port] = await lastingPorts(1);
  return port ?? assert.fail();
}

/** Starts an HTTP server that ends with the test; resolves with its origin. */
export async function startListener(test: Ends, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a relay to `target`, whose bytes `pass` hands to a client; resolves with its URL. */
export async function startRelay(
  test: Ends,
  target: () => Promise<string>,
  pass: (server: Socket, client: Socket) => Promise<void>,
): Promise<string> {
  const relay = createServer(async (client) => {
    client.on('error', () => {});
    try {
      const { hostname, port } = new URL(await target());
      const server = connect(Number(port), hostname);
      client.on('close', () => server.destroy()).pipe(server);
      await pass(server, client);
    } catch {
      // Whatever ends the other side ends this one.
    }
    client.destroy();
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  test.after(() => void relay.close());
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
}
