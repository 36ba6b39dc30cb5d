// Runs the service at half of its capacity. Prints measurements, and fails if memory, threads or
// descriptors grow, or the write-ahead log becomes large.
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures.mjs';
import { generate, percentile } from '../load.mjs';
import { serviceOf, TREE, withServers } from '../servers.mjs';

export const about = 'memory and descriptors during a long load at half of the capacity';

export const defaults = { seconds: 300, notes: 1_000 };

const CONNECTIONS = 64;
/** The connections of the load: enough that no request is lost in a short pause. */
const MANY_CONNECTIONS = 512;
const SAMPLE_MS = 500;
/** Samples before this time are ignored, because caches and the heap still grow. */
const WARM_SHARE = 0.3;
const GROWTH_MB = 48;
const LOG_MIB = 64;

const sample = ({ file, residentMb, threads, descriptors }) => ({
  'resident MB': Math.round(residentMb()),
  threads: threads(),
  descriptors: descriptors(),
  'log MiB': (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / 1_048_576,
});

async function soak(server, { seconds, notes }) {
  const closed = { connections: CONNECTIONS, notes };
  await generate(server.url, 'mix', { ...closed, seconds: 3 });
  const { times, seconds: took } = await generate(server.url, 'mix', { ...closed, seconds: 5 });
  const rate = times.ok.length / took / 2;
  const before = sample(server);
  const samples = [];
  let isOver = false;
  const load = { connections: MANY_CONNECTIONS, notes, rate, seconds };
  const outcome = generate(server.url, 'mix', load).finally(() => {
    isOver = true;
  });
  for (; !isOver; await sleep(SAMPLE_MS)) samples.push(sample(server));
  // The load has closed its sockets; Node closes the remaining connections when they are idle.
  await sleep(6_000);
  return { ...(await outcome), rate, before, samples, after: sample(server) };
}

/** Prints the measurements; returns what is wrong. */
function judge({ rate, times, statuses, lost, before, samples, after }) {
  const steady = samples.slice(Math.floor(samples.length * WARM_SHARE), -2);
  const of = (name, part = steady) => part.map((each) => each[name]);
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times.ok, share).toFixed(1));
  console.log(`${rate.toFixed(0)} requests/s: ${JSON.stringify(statuses)}, ${lost} not sent`);
  console.log(`times: p50 ${p50} ms, p99 ${p99} ms`);
  for (const name of Object.keys(before)) {
    const [least, most] = [Math.min(...of(name)), Math.max(...of(name))];
    console.log(`${name}: ${before[name]} before, ${least} to ${most}, ${after[name]} after`);
  }
  const half = steady.length >> 1;
  const [early, late] = [steady.slice(0, half), steady.slice(half)].map((part) =>
    median(of('resident MB', part)),
  );
  const threads = new Set([...of('threads'), before.threads, after.threads]);
  // Allow for the connections of the health checks.
  const mostDescriptors = before.descriptors + MANY_CONNECTIONS + 8;
  const isFine = (status) => /^(?:2\d\d|health 200)$/.test(status);
  const faults = {
    'the memory grows': late - early > GROWTH_MB,
    'the number of threads changes': threads.size > 1,
    'descriptors are left behind':
      Math.max(...of('descriptors')) > mostDescriptors || after.descriptors > before.descriptors,
    'the write-ahead log grows': Math.max(...of('log MiB', samples)) > LOG_MIB,
    'some answers were errors': !Object.keys(statuses).every(isFine),
  };
  return Object.keys(faults).filter((fault) => faults[fault]);
}

export async function run(settings) {
  // Otherwise, the memory for records and pages would fill up during the whole run.
  const commands = { ours: serviceOf(TREE, '--log-level', 'silent', '--cache-size', '4') };
  const { notes } = settings;
  const faults = await withServers(commands, { notes }, async ([server]) =>
    judge(await soak(server, settings)),
  );
  for (const fault of faults) console.log(`FAILED: ${fault}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
