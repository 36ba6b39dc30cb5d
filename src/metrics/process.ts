// Metrics of the process itself. The names are those of Prometheus' own clients; for what is
// specific to Node, those of OpenTelemetry.
import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Aggregator, Counter, Gauge, Registry } from 'prom-client';
import type { Snapshot } from './snapshot.ts';

/** How often the delay of the event loop is sampled. Each sample wakes up an idle process. */
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
    'Start of the process, in Unix time.',
    'min',
    () => performance.timeOrigin / 1e3,
  ],
  ['process_resident_memory_bytes', 'Resident memory.', 'sum', () => process.memoryUsage.rss()],
  ['process_open_fds', 'Open file descriptors; 0 where unknown.', 'sum', openDescriptors],
  [
    'v8js_memory_heap_used_bytes',
    'Memory used on the heap of JavaScript.',
    'sum',
    () => process.memoryUsage().heapUsed,
  ],
];

/**
 * Adds the metrics of this process to `registry`. Those of the event loop cover the time since the
 * last read. Returns a function that stops measuring.
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

/** Returns a function that reads the metrics of a process that has no other metrics. */
export function snapshotsOfProcess(): () => Promise<Snapshot> {
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
  const help = 'Share of its time for which the event loop was busy.';
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
      // Node records the time between two timers, and NaN while there is no sample.
      const seconds = Math.max(0, read() / 1e9 - RESOLUTION_MS / 1e3) || 0;
      // The maximum is read last.
      if (kind === 'max') delays.reset();
      return seconds;
    },
  ]);
}

async function openDescriptors(): Promise<number> {
  const entries = await readdir('/proc/self/fd').catch(() => []);
  // Reading the folder opens a descriptor itself.
  return Math.max(0, entries.length - 1);
}
