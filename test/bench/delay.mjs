// A TCP proxy that delays data, to simulate the network between regions.
import { connect, createServer } from 'node:net';

/** Starts a proxy to `port` that adds `delayMs` in each direction; resolves with its port. */
export async function startDelay(port, delayMs) {
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      from.on('data', (chunk) => setTimeout(() => to.write(chunk), delayMs));
      from.on('close', () => setTimeout(() => to.destroy(), delayMs));
      from.on('error', () => {});
      from.setNoDelay();
    }
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: server.address().port, close: () => server.close() };
}
