// Metrics of the process itself.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Readings } from '../feature.ts';

/** The interval of samples of the event loop delay. Each one wakes up an idle process. */
const RESOLUTION_MS = 20;

/** Measures this process until `stop`; its event loop since the metrics were last read. */
export function measureProcess(): { readings: Readings; stop(): void } {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  let before = performance.eventLoopUtilization();
  return {
    stop: () => void delays.disable(),
    readings: {
      process_cpu_seconds_total() {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      },
      process_start_time_seconds: () => performance.timeOrigin / 1e3,
      process_resident_memory_bytes: () => process.memoryUsage.rss(),
      v8js_memory_heap_used_bytes: () => process.memoryUsage().heapUsed,
      nodejs_eventloop_utilization_ratio() {
        const { utilization } = performance.eventLoopUtilization(before);
        before = performance.eventLoopUtilization();
        return utilization;
      },
      nodejs_eventloop_delay_p99_seconds: () => delaySeconds(delays.percentile(99)),
      // The last of them, because it begins the next period.
      nodejs_eventloop_delay_max_seconds() {
        const { max } = delays;
        delays.reset();
        return delaySeconds(max);
      },
    },
  };
}

/** A sample is the whole time between two timer callbacks. */
function delaySeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3);
}
