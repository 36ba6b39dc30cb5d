// The metrics of the service: its sources, and the answer of /metrics.
import { readVersion } from '../version.ts';
import { BatchMetrics } from './batch-metrics.ts';
import { measureProcess } from './process.ts';
import { RequestMetrics } from './request-metrics.ts';
import {
  formatSnapshot,
  labelsText,
  type Readings,
  type ShareMetrics,
  type Snapshot,
  takeSnapshot,
} from './snapshot.ts';

/** The sources of values that the metrics read, but do not count themselves. */
export interface MetricSources {
  /** The threads that are alive, those of them that are idle, and demonstrations that wait. */
  readonly threads: () => Promise<Readonly<Record<'alive' | 'idle' | 'waiting', number>>>;
  /** The sizes of the database files in bytes, by name; empty if there are none. */
  readonly fileSizes: () => Promise<Readonly<Record<string, number>>>;
  /** Counts lookups by their result; `bytes` is what the memory takes now. */
  readonly cache: Readonly<Record<'hits' | 'misses' | 'bytes', number>>;
}

/** The metrics of the service, counted from the moment of construction. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly #batches = new BatchMetrics();
  readonly meters = this.#batches.meters;
  readonly #process = measureProcess();
  readonly #collect: () => Promise<Snapshot>;
  #pending: Promise<string> | undefined;

  constructor({ threads, fileSizes, cache }: MetricSources, shareMetrics: ShareMetrics) {
    const readings: Readings = {
      ...this.requests.readings,
      ...this.#batches.readings,
      notes_cache_lookups_total: () => ({
        [labelsText({ result: 'hit' })]: cache.hits,
        [labelsText({ result: 'miss' })]: cache.misses,
      }),
      notes_cache_bytes: () => cache.bytes,
      notes_build_info: () => ({ [labelsText({ version: readVersion() })]: 1 }),
      notes_threads_live: async () => (await threads()).alive,
      notes_threads_standby: async () => (await threads()).idle,
      notes_demonstrations_waiting: async () => (await threads()).waiting,
      notes_database_file_bytes: async () =>
        Object.fromEntries(
          Object.entries(await fileSizes()).map(([file, bytes]) => [labelsText({ file }), bytes]),
        ),
      ...this.#process.readings,
    };
    this.#collect = shareMetrics(() => takeSnapshot(readings));
  }

  /** Resolves with the metrics of all processes as text. Concurrent calls share one reading. */
  exposition(): Promise<string> {
    this.#pending ??= this.#collect()
      .then(formatSnapshot)
      .finally(() => {
        this.#pending = undefined;
      });
    return this.#pending;
  }

  /** Stops measuring the event loop. */
  close(): void {
    this.#process.stop();
  }
}
