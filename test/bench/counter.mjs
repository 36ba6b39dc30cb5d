// Compares the time for 16 threads to add 1,000 times each under a lock, in alternating rounds: our
// pool with and without idle threads, in the process and over HTTP, Python's threading, and piscina
// with 16 reused threads. Run it after `npm run build` and `npm ci` in test/bench/peers:
//   node test/bench/counter.mjs [rounds]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from './figures.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Enough time to start sixteen idle threads in the background. */
const REFILL_MS = 2_000;
const RUNS = '5';
const agent = new Agent({ keepAlive: true });

async function start() {
  const args = [
    here('../../bin/notes-server'),
    '--port',
    '0',
    '--db',
    ':memory:',
    '--log-level',
    'error',
  ];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  const service = { server, url: /http\S+/.exec(String(line))[0] };
  // Reuse one connection: the peers do not open connections either.
  await ask(service, 'GET', '/health');
  return service;
}

async function stop({ server }) {
  server.kill();
  await once(server, 'exit');
}

async function ask({ url }, method, path, body) {
  const sent = request(url + path, {
    agent,
    method,
    headers: { 'content-type': 'application/json' },
  }).end(body);
  const [answer] = await once(sent, 'response');
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return text;
}

async function increment(service) {
  const started = performance.now();
  const text = await ask(service, 'POST', '/counter/increment', '{"workers":16,"count":1000}');
  const elapsed = performance.now() - started;
  if (!JSON.parse(text).consistent) throw new Error(text);
  return elapsed;
}

const runsOf = (command, script) =>
  execFileSync(command, [here(script), RUNS])
    .toString()
    .trim()
    .split('\n')
    .map(Number);

/** Runs the rounds; resolves with the milliseconds of each round, by contestant. */
export async function counter(rounds) {
  const figures = {
    idle: [],
    started: [],
    python: [],
    piscina: [],
    'HTTP, idle': [],
    'HTTP, started': [],
  };
  const service = await start();
  await increment(service);
  for (let round = 0; round < rounds; round += 1) {
    await sleep(REFILL_MS);
    await ask(service, 'GET', '/health');
    figures['HTTP, idle'].push(await increment(service));
    const fresh = await start();
    figures['HTTP, started'].push(await increment(fresh));
    await stop(fresh);
    // Let the pool start its idle threads before the others are measured.
    await sleep(REFILL_MS);
    const [started, ...idle] = runsOf(process.execPath, 'counter-pool.mjs');
    figures.started.push(started);
    figures.idle.push(median(idle));
    figures.python.push(median(runsOf('python3', 'peers/counter.py')));
    figures.piscina.push(median(runsOf(process.execPath, 'peers/counter-piscina.mjs')));
  }
  await stop(service);
  agent.destroy();
  return figures;
}

/** Prints the results of {@link counter}. */
export function printCounter(figures) {
  console.log('\n16 threads that add 1,000 times each');
  for (const [name, values] of Object.entries(figures)) {
    const ms = median(values);
    const spread = `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`;
    const ratio = (ms / median(figures.idle)).toFixed(2);
    console.log(
      `  ${name.padEnd(15)} ${ms.toFixed(2).padStart(7)} ms (${spread})  ${ratio} x idle`,
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [rounds = '9'] = process.argv.slice(2);
  printCounter(await counter(Number(rounds)));
}
