// Measures a cluster of three real rqlite nodes on this machine: the service with batches, the
// service with batches of one, and clients that send single statements to rqlite. Then it measures
// the duration of batches by their size and by the network delay between the nodes, and compares it
// with the model in NOTES.md.
//   NOTES_TEST_RQLITED=$(.ci/rqlited) node test/bench/cluster.mjs [--rounds 5] [--seconds 3] [--connections 64] [--only model]
import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { notes } from '../../dist/src/resources/notes.js';
import { createWriter } from '../../dist/src/storage/batches/writer.js';
import { Table } from '../../dist/src/storage/records/table.js';
import { openRqlite } from '../../dist/src/storage/rqlite/engine.js';
import { migrate } from '../../dist/src/storage/schema/migrations.js';
import { startNodes } from '../../dist/test/support/rqlite-nodes.js';
import { startDelay } from './delay.mjs';
import { median } from './figures.mjs';
import { drive, preload, SERVERS, start } from './servers.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    only: { type: 'string' },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
);
const CORES = '0-1';
const ONE_BY_ONE = new URL('one-by-one.mjs', import.meta.url).href;

/** Runs clients that each send one INSERT after the other to the leader; returns the rate. */
async function direct(leader, count) {
  const agent = new Agent({ keepAlive: true });
  const statement = 'INSERT INTO direct (title, body) VALUES (?1, ?2)';
  const body = JSON.stringify([
    [statement, 'A title of usual length', 'A body that is somewhat longer.'],
  ]);
  const until = performance.now() + seconds * 1_000;
  let done = 0;
  const insert = () =>
    new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      request(`${leader}/db/execute?redirect`, { agent, method: 'POST', headers }, (response) =>
        response
          .resume()
          .on('end', () => (response.statusCode === 200 ? resolve() : reject(response.statusCode))),
      )
        .on('error', reject)
        .end(body);
    });
  const client = async () => {
    for (; performance.now() < until; done += 1) await insert();
  };
  await Promise.all(Array.from({ length: count }, client));
  agent.destroy();
  return done / seconds;
}

async function compare() {
  const cluster = await startNodes(3, { elections: 'default' });
  const [leader] = cluster.nodes;
  const db = `rqlite://${cluster.nodes.map(({ url }) => new URL(url).host).join(',')}`;
  const batched = (port) => SERVERS.ours(port, db);
  const oneByOne = (port) => [batched(port)[0], '--import', ONE_BY_ONE, ...batched(port).slice(1)];
  const services = {
    'in batches': await start(batched, CORES),
    'one by one': await start(oneByOne, CORES),
  };
  // Only now: the service refuses a cluster that already has the tables of another program.
  await fetch(`${leader.url}/db/execute`, {
    method: 'POST',
    body: JSON.stringify([
      'CREATE TABLE direct (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, body TEXT) STRICT',
    ]),
  });
  await preload(services['in batches'].url, 1_000);
  const drives = Object.entries(services).map(([name, { url }]) => [
    name,
    async (work, count) => {
      const {
        requests,
        seconds: took,
        p50,
        p99,
      } = drive(url, work, { connections: count, seconds, notes: 1_000, cores: CORES });
      return { rate: requests / took, p50, p99 };
    },
  ]);
  for (const [work, count] of [
    ['post', connections],
    ['put', connections],
    ['post', 1],
    ['get', connections],
  ]) {
    const all =
      work === 'post'
        ? [...drives, ['rqlite itself', async () => ({ rate: await direct(leader.url, count) })]]
        : drives;
    const measured = all.map(([name]) => ({ name, rate: [], p50: [], p99: [] }));
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, [, run]] of all.entries()) {
        const { rate, p50, p99 } = await run(work, count);
        measured[index].rate.push(rate);
        if (p50 !== undefined) measured[index].p50.push(p50);
        if (p99 !== undefined) measured[index].p99.push(p99);
      }
    }
    for (const { name, rate, p50, p99 } of measured) {
      const ratios = measured[0].rate.map((ours, round) => ours / rate[round]);
      const latency =
        p50.length > 0 ? `, p50 ${median(p50).toFixed(1)}, p99 ${median(p99).toFixed(1)} ms` : '';
      console.log(
        `${work} ${count}: ${name.padEnd(13)} ${median(rate).toFixed(0).padStart(6)}/s${latency}; in batches is ${median(ratios).toFixed(1)} times that`,
      );
    }
  }
  for (const { stop } of Object.values(services)) await stop();
  await cluster.stop();
}

/** Measures the duration in ms of batches of each size, with this network delay between nodes. */
async function batchTimes(sizes, delayMs) {
  const delays = [];
  const wayTo = async (port) => {
    const delay = await startDelay(port, delayMs);
    delays.push(delay);
    return delay.port;
  };
  const cluster = await startNodes(3, { elections: 'default', ...(delayMs > 0 ? { wayTo } : {}) });
  const nodes = cluster.nodes.map(({ url }) => url);
  const database = await openRqlite(
    { nodes, user: undefined, password: undefined },
    'linearizable',
  );
  await migrate(database);
  const table = new Table(notes, database, createWriter(database));
  const texts = [
    'A title of usual length',
    'A body that is somewhat longer, as the bodies of notes tend to be.',
  ];
  const times = [];
  for (const size of sizes) {
    const took = [];
    for (let count = 0; count < 40; count += 1) {
      const begun = performance.now();
      await Promise.all(Array.from({ length: size }, () => table.create([texts])));
      took.push(performance.now() - begun);
    }
    times.push(median(took));
  }
  await database.close();
  await cluster.stop();
  for (const { close } of delays) close();
  return times;
}

async function model() {
  const sizes = [1, 16, 64, 256, 512];
  const here = await batchTimes(sizes, 0);
  // A batch takes a fixed time, a time per write, and a round trip to the nearest other node.
  const each = (here.at(-1) - here[0]) / (sizes.at(-1) - sizes[0]);
  const fixed = here[0] - each;
  console.log(
    `model: ${fixed.toFixed(2)} ms + ${(1_000 * each).toFixed(1)} us per write + the round trip`,
  );
  for (const delayMs of [0, 5, 20, 40]) {
    const measured = delayMs === 0 ? here : await batchTimes(sizes, delayMs);
    const cells = sizes.map((size, index) => {
      const predicted = fixed + each * size + 2 * delayMs;
      return `${size}: ${measured[index].toFixed(1)} (${predicted.toFixed(1)}) ms, ${((1_000 * size) / measured[index]).toFixed(0)}/s`;
    });
    console.log(`  ${2 * delayMs} ms there and back: ${cells.join('   ')}`);
  }
}

if (values.only !== 'model') await compare();
await model();
