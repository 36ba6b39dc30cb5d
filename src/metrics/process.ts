// What is measured of the process itself, whatever it does. The names are those that Prometheus' own clients give and, for
// what is Node's, OpenTelemetry's.
import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Aggregator, Counter, Gauge, Registry } from 'prom-client';
import type { Snapshot } from './snapshot.ts';

/** How often the event loop is asked how late it is: by a timer, for which a service at rest wakes up. */
const RESOLUTION_MS = 20;

/**
 * Adds what tells of this process to `registry`; its aggregators say what that of several becomes. What tells of the event
 * loop is of the time since it was last read. Returns what ends the measuring.
 */
export function measureProcess(registry: Registry): () => void {
  const registers = [registry];

  function gauge(name: string, help: string, aggregator: Aggregator, read: () => number | Promise<number>): void {
    async function collect(this: Gauge): Promise<void> {
      this.set(await read());
    }
    new Gauge({ name, help, aggregator, registers, collect });
  }

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
  gauge('process_start_time_seconds', 'When it was started, in Unix time.', 'min', () => performance.timeOrigin / 1e3);
  gauge('process_resident_memory_bytes', 'Memory that is resident.', 'sum', () => process.memoryUsage.rss());
  gauge('process_open_fds', 'Open file descriptors; 0 where the system does not tell.', 'sum', openDescriptors);
  gauge('v8js_memory_heap_used_bytes', 'What JavaScript keeps in memory.', 'sum', () => process.memoryUsage().heapUsed);

  let before = performance.eventLoopUtilization();
  gauge('nodejs_eventloop_utilization_ratio', 'How much of its time the event loop was busy.', 'max', () => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    return utilization;
  });

  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  for (const [name, read] of [
    ['mean', () => delays.mean],
    ['p50', () => delays.percentile(50)],
    ['p90', () => delays.percentile(90)],
    ['p99', () => delays.percentile(99)],
    ['max', () => delays.max],
  ] as const) {
    gauge(`nodejs_eventloop_delay_${name}_seconds`, `How late the event loop was (${name}).`, 'max', () => {
      // What is recorded is the time from one timer to the next; just begun, there is nothing but NaN.
      const seconds = Math.max(0, read() / 1e9 - RESOLUTION_MS / 1e3) || 0;
      // The last of them.
      if (name === 'max') delays.reset();
      return seconds;
    });
  }
  return () => void delays.disable();
}

/** Begins to measure a process that does nothing else to be told of; returns what resolves with what is to be told. */
export function snapshotsOfProcess(): () => Promise<Snapshot> {
  const registry = new Registry();
  measureProcess(registry);
  return () => registry.getMetricsAsJSON();
}

async function openDescriptors(): Promise<number> {
  const entries = await readdir('/proc/self/fd').catch(() => []);
  // The folder itself was one of them.
  return Math.max(0, entries.length - 1);
}
