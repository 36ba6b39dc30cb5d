// Measures a cluster of three real rqlite nodes on this machine: the service with batches, the
// service with batches of one, and how the duration of a batch depends on its size and on the
// network delay between the nodes. Needs NOTES_TEST_RQLITED=$(.ci/rqlited).
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { startNodes } from '../../../dist/test/support/rqlite-nodes.js';
import { drive } from '../load.mjs';
import { measure, print } from '../rounds.mjs';
import { ALL_CORES as cores, SERVERS, withServers } from '../servers.mjs';

export const about = 'a cluster of rqlite nodes: batches, single writes, and network delay';

export const defaults = {
  works: ['post', 'put', 'get'],
  sizes: [1, 16, 64, 256, 512],
  delays: [0, 5, 20, 40],
  rounds: 5,
  seconds: 3,
  connections: 64,
  notes: 1_000,
};

const LIMITS = new URL('../../../dist/src/storage/batcher.js', import.meta.url).href;
const ONE_BY_ONE = `data:text/javascript,import { BATCH_LIMITS } from '${LIMITS}';
BATCH_LIMITS.batchItems = 1;`;

/** Starts a proxy to `port` that adds `delayMs` in each direction. */
async function startDelay(port, delayMs) {
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
  await once(server, 'listening');
  return server;
}

/** Calls `use` with a command of the service on a cluster with this delay between its nodes. */
async function withCluster(delayMs, use) {
  const delays = [];
  const wayTo = async (port) => {
    const delay = await startDelay(port, delayMs);
    delays.push(delay);
    return delay.address().port;
  };
  const cluster = await startNodes(3, { elections: 'default', ...(delayMs > 0 ? { wayTo } : {}) });
  const db = `rqlite://${cluster.nodes.map(({ url }) => new URL(url).host).join(',')}`;
  try {
    await use((port) => SERVERS.ours(port, db));
  } finally {
    await cluster.stop();
    for (const delay of delays) delay.close();
  }
}

export async function run({ works, sizes, delays, ...load }) {
  await withCluster(0, async (batched) => {
    const oneByOne = (port) => {
      const [node, ...args] = batched(port);
      return [node, '--import', ONE_BY_ONE, ...args];
    };
    const commands = { 'in batches': batched, 'one by one': oneByOne };
    await withServers(commands, { ...load, cores }, async (servers) => {
      for (const work of works) print(await measure(servers, work, { ...load, cores }));
      print(await measure(servers, 'post', { ...load, connections: 1, cores }));
    });
  });
  // As many clients as fill a batch: each waits for the whole of it.
  for (const delayMs of delays)
    await withCluster(delayMs, (command) =>
      withServers({ command }, { cores }, async ([server]) => {
        const cells = [];
        for (const connections of sizes) {
          const { p50 } = await drive(server, 'post', { ...load, connections, cores });
          cells.push(`${connections}: ${p50.toFixed(1)} ms`);
        }
        console.log(`batches, ${2 * delayMs} ms there and back: ${cells.join('   ')}`);
      }),
    );
}
