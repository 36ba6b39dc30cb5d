// Measures the latency of GET /notes/{id} with more demonstrations than the service has threads
// for, and without them, in alternating rounds on one service. Run it after `npm run build`:
//   node test/bench/flood.mjs [rounds] [clients]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [rounds = '5', clients = '300'] = process.argv.slice(2);
const ROUND_MS = 4_000;
/** The pause between two reads of the note: the latency is measured, not the throughput. */
const PAUSE_MS = 5;

const args = [
  fileURLToPath(new URL('../../bin/notes-server', import.meta.url)),
  '--port',
  '0',
  '--db',
  ':memory:',
];
const server = spawn(process.execPath, [...args, '--log-level', 'error'], {
  stdio: ['ignore', 'pipe', 'ignore'],
});
const [line] = await once(server.stdout, 'data');
const url = /http\S+/.exec(String(line))[0];
const agent = new Agent({ keepAlive: true });

async function ask(method, path, body) {
  const started = performance.now();
  const sent = request(url + path, {
    agent,
    method,
    headers: { 'content-type': 'application/json' },
  }).end(body);
  const [answer] = await once(sent, 'response');
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return { status: answer.statusCode, text, ms: performance.now() - started };
}

/** Returns the latencies of one round, in ascending order. */
async function watchNote() {
  const times = [];
  for (const end = performance.now() + ROUND_MS; performance.now() < end; await sleep(PAUSE_MS)) {
    times.push((await ask('GET', '/notes/1')).ms);
  }
  return times.sort((one, other) => one - other);
}

/** Runs clients that send the next request after each answer, or after its retry-after. */
async function flood(isOver, counts) {
  await Promise.all(
    Array.from({ length: Number(clients) }, async () => {
      while (!isOver()) {
        const { status, text } = await ask(
          'POST',
          '/counter/increment',
          '{"workers":16,"count":1000}',
        );
        if (status !== 200 && status !== 503) throw new Error(text);
        if (status === 200 && !JSON.parse(text).consistent) throw new Error(text);
        counts[status] += 1;
        if (status === 503) await sleep(1_000);
      }
    }),
  );
}

const percentile = (times, share) => times[Math.floor(times.length * share)];
const median = (figures) => figures.toSorted((one, other) => one - other)[figures.length >> 1];
const figures = { alone: { p50: [], p99: [], most: [] }, flooded: { p50: [], p99: [], most: [] } };
const counts = { 200: 0, 503: 0 };
function note(name, times) {
  figures[name].p50.push(percentile(times, 0.5));
  figures[name].p99.push(percentile(times, 0.99));
  figures[name].most.push(times.at(-1));
}

await ask('POST', '/notes', '{"title":"a","body":"b"}');
for (let round = 0; round < Number(rounds); round += 1) {
  note('alone', await watchNote());
  let over = false;
  const flooding = flood(() => over, counts);
  note('flooded', await watchNote());
  over = true;
  await flooding;
}
server.kill();
agent.destroy();
for (const [name, { p50, p99, most }] of Object.entries(figures)) {
  const [middle, tail, longest] = [p50, p99, most].map((times) =>
    median(times).toFixed(2).padStart(7),
  );
  console.log(`${name.padEnd(7)}  p50 ${middle} ms  p99 ${tail} ms  longest ${longest} ms`);
}
const ratio = median(figures.flooded.p99) / median(figures.alone.p99);
console.log(
  `p99 under the flood: ${ratio.toFixed(1)} x alone; demonstrations: ${counts[200]} right, ${counts[503]} refused`,
);
