// Runs the service for minutes at half of its capacity. Prints measurements; fails if memory,
// threads or descriptors grow, or the write-ahead log becomes large. Run it after `npm run build`:
//   node test/bench/soak.mjs [seconds]
import { readdirSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './figures.mjs';
import { percentile, run, start } from './load.mjs';

const [seconds = '300'] = process.argv.slice(2);
const CONNECTIONS = 64;
/** The connections of the load: enough that no request is lost in a short pause. */
const MANY_CONNECTIONS = 512;
const SAMPLE_MS = 500;
/** Samples before this time are ignored, because caches and the heap still grow. */
const WARM_SHARE = 0.3;
const GROWTH_MB = 48;
const LOG_MIB = 64;

function sample({ pid, file, status }) {
  return {
    memory: status('VmRSS') / 1_024,
    threads: status('Threads'),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    log: (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / 1_048_576,
  };
}

// Otherwise, the memory for records and pages would fill up during the whole run.
const service = await start(undefined, ['--cache-size', '4']);
const faults = [];
try {
  const load = { port: service.port, work: 'mixed', connections: CONNECTIONS };
  await run({ ...load, seconds: 3 });
  const closed = await run({ ...load, seconds: 5 });
  const rate = closed.times.ok.length / closed.seconds / 2;
  const before = sample(service);
  const samples = [];
  let over = false;
  const outcome = run({
    ...load,
    connections: MANY_CONNECTIONS,
    rate,
    seconds: Number(seconds),
  }).finally(() => {
    over = true;
  });
  for (; !over; await sleep(SAMPLE_MS)) samples.push(sample(service));
  const { times, statuses, lost } = await outcome;
  // The load has closed its sockets; Node closes the remaining connections when they are idle.
  await sleep(6_000);
  const after = sample(service);

  const steady = samples.slice(Math.floor(samples.length * WARM_SHARE), -2);
  const half = steady.length >> 1;
  const most = (name) => Math.max(...steady.map((each) => each[name]));
  const least = (name) => Math.min(...steady.map((each) => each[name]));
  const [early, late] = [steady.slice(0, half), steady.slice(half)].map((part) =>
    median(part.map(({ memory }) => memory)),
  );
  const log = Math.max(...samples.map((each) => each.log));

  console.log(
    `${seconds} s at ${rate.toFixed(0)} requests/s, half of the capacity: ${JSON.stringify(statuses)}, ${lost} not sent`,
  );
  console.log(
    `times: p50 ${percentile(times.ok, 0.5).toFixed(1)} ms, p99 ${percentile(times.ok, 0.99).toFixed(1)} ms`,
  );
  console.log(
    `memory: ${before.memory.toFixed(0)} MB before, ${early.toFixed(0)} MB early, ${late.toFixed(0)} MB late, ${after.memory.toFixed(0)} MB after`,
  );
  console.log(
    `threads: ${before.threads} before, ${least('threads')} to ${most('threads')} during, ${after.threads} after`,
  );
  console.log(
    `descriptors: ${before.handles} before, ${least('handles')} to ${most('handles')} during, ${after.handles} after`,
  );
  console.log(`write-ahead log: at most ${log.toFixed(1)} MiB`);

  if (late - early > GROWTH_MB) faults.push('the memory grows');
  if (most('threads') !== least('threads') || after.threads !== before.threads)
    faults.push('the number of threads changes');
  // Allow for the connections of the health checks.
  if (most('handles') > before.handles + MANY_CONNECTIONS + 8 || after.handles > before.handles)
    faults.push('descriptors are left behind');
  if (log > LOG_MIB) faults.push('the write-ahead log grows');
  if (Object.keys(statuses).some((status) => !/^(?:2\d\d|health 200)$/.test(status)))
    faults.push('some answers were errors');
} finally {
  await service.stop();
}
for (const fault of faults) console.log(`FAILED: ${fault}`);
process.exitCode = faults.length > 0 ? 1 : 0;
