// The servers to measure, each in its own process and on its own file. All of them answer GET and
// PUT /notes/{id}, GET and POST /notes. If `taskset` is installed, the server runs on the first
// core and the load on the second.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Returns the path of a file of test/bench/. */
export const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const node = process.execPath;

/** The root of this tree. */
export const TREE = here('../..');

/** All cores of the machine, as `taskset` takes them. */
export const ALL_CORES = `0-${availableParallelism() - 1}`;

/** Returns the command of the service of a tree, with more options if there are some. */
export const serviceOf =
  (tree, ...options) =>
  (port, file) => [
    ...[node, join(tree, 'bin/notes-server'), '--port', port, '--db', file],
    ...['--log-level', 'error', ...options],
  ];

const peer = (name) => (port, file) => [node, here(`peers/${name}.mjs`), port, file];

/** The command of each server, by name, for a port and a file. */
export const SERVERS = {
  ours: serviceOf(TREE),
  /** The service without records and pages in memory. */
  uncached: serviceOf(TREE, '--cache-size', '0'),
  /** The service with a log line for each request. */
  logging: (port, file) => [
    ...['sh', '-c', 'exec "$@" 2>"$0"', `${file}.log`],
    ...serviceOf(TREE, '--log-level', 'info')(port, file),
  ],
  bare: peer('bare'),
  fastify: peer('fastify'),
  express: peer('express'),
  hono: peer('hono'),
  bun: (port, file) => [here('peers/node_modules/.bin/bun'), here('peers/bun.mjs'), port, file],
};

/** Tells whether a program is installed. */
export const has = (program) => spawnSync(program, ['--version']).error === undefined;
const pins = has('taskset') && availableParallelism() > 1;

/** Returns `command`, pinned to those cores if `taskset` is installed. */
export const pinned = (cores, command) =>
  (pins ? ['taskset', '-c', cores, ...command] : command).map(String);

/** Installs the peers unless they are installed. */
export function installPeers() {
  const installed = spawnSync('npm', ['ls', '--prefix', here('peers')], { stdio: 'ignore' });
  if (installed.status !== 0)
    execFileSync('npm', ['ci', '--prefix', here('peers')], { stdio: ['ignore', 2, 2] });
}

/**
 * Starts the server of each of `commands`, by name, on `cores` and on an own file, and calls `use`
 * with them; stops them when it has ended. Each has that many notes, and `prepare`, which is called
 * with the command and its file before the start, may have filled the file.
 */
export async function withServers(commands, { cores, notes = 0, prepare }, use) {
  const folder = mkdtempSync(join(tmpdir(), 'notes-bench-'));
  const servers = [];
  try {
    for (const [name, command] of Object.entries(commands)) {
      const file = join(folder, `${name}.db`);
      await prepare?.(command, file);
      const server = await start((port) => command(port, file), cores);
      servers.push({ name, file, ...server });
      if (name !== 'bare') await preload(server.url, notes);
    }
    return await use(servers);
  } finally {
    for (const { stop } of servers) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Starts the servers of `commands` and calls `use` with them, `starts` times. Every second time, the
 * order is reversed, because servers that start last may be faster. Resolves with the results.
 */
export async function withStarts(starts, commands, options, use) {
  const results = [];
  for (let start = 0; start < starts; start += 1) {
    const entries = Object.entries(commands);
    if (start % 2 === 1) entries.reverse();
    results.push(await withServers(Object.fromEntries(entries), options, use));
  }
  return results;
}

/** Starts a server on `cores`, by default the first; resolves when it has answered a request. */
export async function start(command, cores = '0') {
  const port = await freePort();
  const [program, ...args] = pinned(cores, command(port));
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const isUp = () => statusOf(`${url}/notes/1`).then(Boolean, () => false);
  while (child.exitCode === null && !(await isUp())) await sleep(1);
  if (child.exitCode !== null) throw new Error(`${args.join(' ')} did not start`);
  const status = (name) =>
    Number(
      new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1],
    );
  return {
    url,
    cpu: () => cpuOf(child.pid),
    residentMb: () => status('VmRSS') / 1_024,
    peakMb: () => status('VmHWM') / 1_024,
    threads: () => status('Threads'),
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    async stop() {
      child.kill();
      await exited;
    },
  };
}

/** The CPU seconds of the threads by process and thread, also of those that have ended since. */
const cpuSeconds = new Map();

/** Returns the CPU seconds of the threads of a process and its children. */
function cpuOf(pid) {
  const threads = cpuSeconds.get(pid) ?? new Map();
  cpuSeconds.set(pid, threads);
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      // `stat` counts in steps of 10 ms.
      const [ns] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      threads.set(thread, Number(ns) / 1e9);
    } catch {
      // It has just ended.
    }
  }
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  const children = listed.filter(Boolean).map(cpuOf);
  return [...threads.values(), ...children].reduce((sum, seconds) => sum + seconds, 0);
}

/** Requests a page, and resolves with the status of the answer once it is complete. */
export async function statusOf(url, init) {
  const answer = await fetch(url, init);
  await answer.text();
  return answer.status;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** The key that preload and wrk send, for a service with --api-keys-file. */
const KEY = process.env.BENCH_KEY;

/** Creates that many notes through the service; resolves when they can be searched. */
export async function preload(url, count) {
  const title = 'A title of usual length';
  const body = 'A body that is somewhat longer, as the bodies of notes tend to be.';
  const headers = { 'content-type': 'application/json', ...(KEY && { 'x-api-key': KEY }) };
  const init = { method: 'POST', headers, body: JSON.stringify({ title, body }) };
  let left = count;
  const client = async () => {
    for (; left > 0; ) {
      left -= 1;
      const status = await statusOf(`${url}/notes`, init);
      if (status !== 201) throw new Error(`${url} has answered ${status} to a note`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, client));
  // Indexing in the background would count as CPU time of other requests.
  while (count > 0 && (await statusOf(`${url}/notes?q=title`, { headers })) !== 200)
    await sleep(500);
}
