// A way between two nodes that takes as long as one between regions: what arrives goes on after a
// while, in its order.
import { connect, createServer } from 'node:net';

/**
 * Starts to listen on a free port for what is to arrive `delayMs` later at `port`, there and back;
 * resolves with its port.
 */
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
