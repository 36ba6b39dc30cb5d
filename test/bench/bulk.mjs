// Compares, in alternating rounds, one POST of 500 lines with 500 POSTs over the same connection, and
// POSTs with and without an idempotency key. Prints medians and ratios. Needs `taskset`.
//   node test/bench/bulk.mjs [--rounds 5] [--seconds 2] [--connections 64]
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { median } from './figures.mjs';
import { run, start } from './load.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' },
  },
});
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(
  Number,
);

const LINES = 500;
const NOTE = '{"title":"A title of usual length","body":"A body that is somewhat longer."}';
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function create(port, type, body) {
  const options = {
    port,
    path: '/notes',
    method: 'POST',
    agent,
    headers: { 'content-type': type },
  };
  const response = await new Promise((resolve, reject) =>
    request(options, resolve).on('error', reject).end(body),
  );
  await text(response);
  if (response.statusCode !== 201) throw new Error(`status ${response.statusCode}`);
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const server = await start();
const { port } = server;
const times = { single: [], bulk: [] };
const rates = { post: [], keyed: [] };
for (let round = 0; round < rounds; round += 1) {
  const lines = Array.from({ length: LINES }, () => NOTE).join('\n');
  times.bulk.push(await timed(() => create(port, 'application/x-ndjson', lines)));
  times.single.push(
    await timed(async () => {
      for (let count = 0; count < LINES; count += 1) await create(port, 'application/json', NOTE);
    }),
  );
  for (const work of Object.keys(rates)) {
    const { times: measured } = await run({ port, work, seconds, connections });
    rates[work].push(measured.ok.length / seconds);
  }
}
agent.destroy();
await server.stop();

const [bulk, single] = [median(times.bulk), median(times.single)];
console.log(`${LINES} notes: ${single.toFixed(0)} ms one by one, ${bulk.toFixed(1)} ms as lines`);
console.log(`as lines: ${(single / bulk).toFixed(0)} times as fast`);
const [post, keyed] = [median(rates.post), median(rates.keyed)];
console.log(`POST per second: ${post.toFixed(0)}, with a key ${keyed.toFixed(0)}`);
console.log(`with a key: ${(keyed / post).toFixed(2)} times as fast`);
