// Metrics of the process itself, named as in the client libraries of Prometheus, or as in
// OpenTelemetry where they are specific to Node.
import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Aggregator, Counter, Gauge, Registry } from 'prom-client';
import type { Snapshot } from './snapshot.ts';

/** The interval of samples of the event loop delay. Each one wakes up an idle process. */
const RESOLUTION_MS = 20;

type Reading = [
  name: string,
  help: string,
  aggregator: Aggregator,
  read: () => number | Promise<number>,
];

const READINGS: readonly Reading[] = [
  [
    'process_start_time_seconds',
    'Start time of the process since the Unix epoch.',
    'min',
    () => performance.timeOrigin / 1e3,
  ],
  [
    'process_resident_memory_bytes',
    'Resident memory size.',
    'sum',
    () => process.memoryUsage.rss(),
  ],
  ['process_open_fds', 'Open file descriptors; 0 where unknown.', 'sum', openDescriptors],
  [
    'v8js_memory_heap_used_bytes',
    'Used memory of the JavaScript heap.',
    'sum',
    () => process.memoryUsage().heapUsed,
  ],
];

/**
 * Adds the metrics of this process to `registry`; those of the event loop cover the time since they
 * were last read. Returns a function that stops measuring.
 */
export function measureProcess(registry: Registry): () => void {
  const registers = [registry];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of all threads.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  for (const reading of [...READINGS, utilization(), ...delayReadings(delays)]) {
    const [name, help, aggregator, read] = reading;
    const collect = async function (this: Gauge) {
      this.set(await read());
    };
    new Gauge({ name, help, aggregator, registers, collect });
  }
  return () => void delays.disable();
}

/** Measures a process that has no other metrics; returns a function that reads a snapshot. */
export function createSnapshotReader(): () => Promise<Snapshot> {
  const registry = new Registry();
  measureProcess(registry);
  return () => registry.getMetricsAsJSON();
}

function utilization(): Reading {
  let before = performance.eventLoopUtilization();
  const read = () => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    return utilization;
  };
  const help = 'Busy share of the event loop, from 0 to 1.';
  return ['nodejs_eventloop_utilization_ratio', help, 'max', read];
}

function delayReadings(delays: ReturnType<typeof monitorEventLoopDelay>): Reading[] {
  const reads: [string, () => number][] = [
    ['mean', () => delays.mean],
    ['p50', () => delays.percentile(50)],
    ['p90', () => delays.percentile(90)],
    ['p99', () => delays.percentile(99)],
    ['max', () => delays.max],
  ];
  return reads.map(([kind, read]) => [
    `nodejs_eventloop_delay_${kind}_seconds`,
    `Delay of the event loop (${kind}).`,
    'max',
    () => {
      // A sample is the whole time between two timer callbacks; the mean of no samples is NaN.
      const seconds = Math.max(0, read() / 1e9 - RESOLUTION_MS / 1e3) || 0;
      // `max` is read last.
      if (kind === 'max') delays.reset();
      return seconds;
    },
  ]);
}

async function openDescriptors(): Promise<number> {
  const entries = await readdir('/proc/self/fd').catch(() => []);
  // One of them is that of readdir itself.
  return Math.max(0, entries.length - 1);
}
