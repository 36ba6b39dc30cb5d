// Loads a server and measures it. A closed load sends the next request of a connection after its
// answer, and thus finds the capacity. An open load sends requests at a fixed rate; a request that
// finds all connections busy is lost.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { has, here, pinned } from './servers.mjs';

const hasWrk = has('wrk');
/** Long enough to read nearly all notes and pages, so that later reads find them in memory. */
const WARM_SECONDS = 2.5;

/** Runs a program on those cores; resolves with the JSON in its last line. */
async function run(cores, command) {
  const [program, ...args] = pinned(cores, command);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const printed = await text(child.stdout);
  return JSON.parse(printed.trim().split('\n').at(-1));
}

/**
 * Loads `url` from `cores`, by default the second, with requests of the kind `work` on that many
 * existing notes: one of those of generator.mjs, or the path of a GET. `rate` is in requests a
 * second; 0 means a closed load. Resolves with what generator.mjs prints.
 */
export function generate(url, work, { rate = 0, connections, seconds, notes, cores = '1' }) {
  const generator = [process.execPath, here('generator.mjs')];
  return run(cores, [...generator, url, work, connections, seconds, notes, rate]);
}

/**
 * Drives a closed load of a server with wrk or, if that is not installed, with our own generator,
 * which needs more CPU itself. Resolves with the requests, the seconds, and the 50th and 99th
 * percentile in ms; rejects if a request failed.
 */
export async function drive(server, work, options) {
  const { name, url } = server;
  const { connections, seconds, notes, cores = '1' } = options;
  if (!hasWrk) return summary(await generate(url, work, options));
  const measured = await run(cores, [
    // wrk itself takes only whole seconds.
    ...['timeout', '--preserve-status', '--signal=INT', seconds],
    // Peers that write one by one make some of 64 clients wait longer than its default of 2 s.
    ...['wrk', '-t1', `-c${connections}`, '-d1h', '--timeout', '30s', '-s', here('work.lua')],
    ...[url, '--', work, notes],
  ]);
  const failures = Object.entries(measured.failures).filter(([, count]) => count > 0);
  if (failures.length > 0)
    throw new Error(`${name} failed at ${work}: ${JSON.stringify(Object.fromEntries(failures))}`);
  // On a busy machine, wrk may begin long after `timeout`.
  return measured.seconds < seconds / 2 ? drive(server, work, options) : measured;
}

function summary({ times, statuses, seconds }) {
  const failed = Object.keys(statuses).filter((status) => !/^(?:2\d\d|health .*)$/.test(status));
  if (failed.length > 0) throw new Error(`requests were answered ${failed}`);
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times.ok, share));
  return { requests: times.ok.length, seconds, p50, p99 };
}

/** Warms servers up for a kind of work on that many notes. */
export async function warmUp(servers, work, notes) {
  for (const server of servers)
    await drive(server, work, { connections: 64, seconds: WARM_SECONDS, notes });
}

/** Returns the time below which the fraction `share` of ascending times lies, 0 if there are none. */
export const percentile = (times, share) =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
