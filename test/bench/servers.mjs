// The servers to measure, each in its own process and on its own file. All of them answer GET and
// PUT /notes/{id}, GET and POST /notes. If `taskset` is installed, the server runs on the first
// core and the load on the second.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const node = process.execPath;

const ours = (port, file) => [
  ...[node, here('../../bin/notes-server'), '--port', port, '--db', file],
  ...['--log-level', 'error'],
];

/** The command of each server, by name, for a port and a file. */
export const SERVERS = {
  ours,
  /** The service without records and pages in memory. */
  uncached: (port, file) => [...ours(port, file), '--cache-size', '0'],
  /** The service with a log line for each request. */
  logging: (port, file) => [
    ...['sh', '-c', 'exec "$@" 2>"$0"', `${file}.log`],
    ...[node, here('../../bin/notes-server'), '--port', port, '--db', file],
  ],
  bare: (port) => [node, here('peers/bare.mjs'), port],
  fastify: (port, file) => [node, here('peers/fastify.mjs'), port, file],
  express: (port, file) => [node, here('peers/express.mjs'), port, file],
  hono: (port, file) => [node, here('peers/hono.mjs'), port, file],
  bun: (port, file) => [here('peers/node_modules/.bin/bun'), here('peers/bun.mjs'), port, file],
};

const has = (command) => spawnSync(command, ['-h']).error === undefined;
const pins = has('taskset') && availableParallelism() > 1;
const hasWrk = has('wrk');

/** Returns `command`, pinned to that core if `taskset` is installed. */
export const pinned = (core, command) =>
  pins ? ['taskset', '-c', String(core), ...command] : command;

/** Installs the peers unless they are installed. */
export function installPeers() {
  const installed = spawnSync('npm', ['ls', '--prefix', here('peers')], { stdio: 'ignore' });
  if (installed.status !== 0)
    execFileSync('npm', ['ci', '--prefix', here('peers')], { stdio: ['ignore', 2, 2] });
}

/** Starts a server on `cores`, by default the first; resolves when it has answered a request. */
export async function start(command, cores = '0') {
  const port = await freePort();
  const [program, ...args] = pinned(cores, command(String(port)));
  const started = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  while (child.exitCode === null && !(await isUp(`${url}/notes/1`))) await sleep(1);
  if (child.exitCode !== null) throw new Error(`${args.join(' ')} did not start`);
  return {
    url,
    startMs: performance.now() - started,
    pid: child.pid,
    cpu: () => cpuOf(child.pid),
    residentMb: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1_024,
    async stop() {
      child.kill();
      await exited;
    },
  };
}

/** Returns the CPU seconds of a process and its children. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  return listed
    .filter(Boolean)
    .reduce((sum, child) => sum + cpuOf(child), (Number(fields[11]) + Number(fields[12])) / 100);
}

async function isUp(url) {
  try {
    await isOk(url);
    return true;
  } catch {
    return false;
  }
}

async function isOk(url) {
  const answer = await fetch(url);
  await answer.text();
  return answer.ok;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

const NOTE = {
  title: 'A title of usual length',
  body: 'A body that is somewhat longer, as the bodies of notes tend to be.',
};

/** Creates that many notes through the service; resolves when they can be searched. */
export async function preload(url, count) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(NOTE),
  };
  let left = count;
  const client = async () => {
    for (; left > 0; ) {
      left -= 1;
      const { ok } = await fetch(`${url}/notes`, init).then(
        async (answer) => (await answer.text()) && answer,
      );
      if (!ok) throw new Error(`${url} did not take a note`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, client));
  // Indexing in the background would count as CPU time of other requests.
  while (!(await isOk(`${url}/notes?q=title`))) await sleep(500);
}

/** Long enough to read nearly all notes and pages, so that later reads find them in memory. */
const WARM_SECONDS = 4;

/** Warms servers up for a kind of work on that many notes. */
export function warmUp(servers, work, notes) {
  for (const { url } of servers)
    drive(url, work, { connections: 64, seconds: WARM_SECONDS, notes });
}

/**
 * Loads `url` for some seconds from `cores`, by default the second, with wrk or, if that is not
 * installed, with autocannon, which needs more CPU itself. Returns the requests, the seconds, and
 * the 50th and 99th percentile in ms; throws if a request failed.
 */
export function drive(url, work, options) {
  const { connections, seconds, notes, cores = '1' } = options;
  const wrk = [
    // wrk itself takes only whole seconds.
    ...['timeout', '--preserve-status', '--signal=INT', seconds],
    ...['wrk', '-t1', `-c${connections}`, '-d1h', '-s', here('work.lua'), url, '--', work, notes],
  ];
  const cannon = [node, here('autocannon.mjs'), url, work, connections, seconds, notes];
  const [program, ...args] = pinned(cores, (hasWrk ? wrk : cannon).map(String));
  const printed = execFileSync(program, args).toString();
  const measured = JSON.parse(printed.trim().split('\n').at(-1));
  if (measured.failed > 0) throw new Error(`${measured.failed} requests failed: ${printed}`);
  // On a busy machine, wrk may begin long after `timeout`.
  return measured.seconds < seconds / 2 ? drive(url, work, options) : measured;
}
