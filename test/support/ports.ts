// Ports at which a service can be started again, and servers that stand in for another program.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import type { Ends } from './engine.ts';

/** Below the ports that Linux gives to connections and to servers at port 0. */
const FIRST = 20_000;
const LAST = 32_000;

/** Resolves with a free port that no other program gets by chance while the service is down. */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(FIRST, LAST), '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    const { port } = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Starts an HTTP server that ends with the test; resolves with its origin. */
export async function startListener(test: Ends, listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
