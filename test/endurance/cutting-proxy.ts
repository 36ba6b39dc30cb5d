// A TCP proxy that cuts each connection somewhere in the middle of an answer.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Ends } from '../support/engine.ts';
import { between, oneIn } from '../support/ledger.ts';

/** A connection is cut after 2 to the power of 6 to 20 bytes of answers. */
const EXPONENTS = [6, 20] as const;

/** A proxy that runs until the end of the test. */
export interface CuttingProxy {
  readonly url: string;
  cuts(): number;
}

/** Starts a proxy to the service at the URL that `target` resolves with for each connection. */
export async function startCuttingProxy(
  t: Ends,
  target: () => Promise<string>,
): Promise<CuttingProxy> {
  const clients = new Set<Socket>();
  let cuts = 0;

  async function relay(client: Socket): Promise<void> {
    const { hostname, port } = new URL(await target());
    const upstream = connect(Number(port), hostname);
    client.on('close', () => upstream.destroy());
    client.pipe(upstream);
    let left = Math.floor(2 ** (Math.random() + between(EXPONENTS[0], EXPONENTS[1] - 1)));
    for await (const part of upstream) {
      await write(client, part.subarray(0, left));
      left -= part.length;
      if (left > 0) continue;
      cuts += 1;
      if (oneIn(2)) client.resetAndDestroy();
      return;
    }
  }

  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => {}).on('close', () => clients.delete(client));
    // Whatever ends the other side ends this one.
    const end = () => client.destroy();
    relay(client).then(end, end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const client of clients) client.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, cuts: () => cuts };
}

function write(client: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    client.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
