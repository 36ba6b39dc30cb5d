// Metrics of the batches of database reads and writes.
import { Gauge, type Registry } from 'prom-client';
import type { BatchMeter } from '../storage/batches/batcher.ts';
import { createHistogram, type Histogram } from './histogram.ts';

/** The kinds of batches. */
export type BatchKind = 'read' | 'page' | 'write';

/** Upper bounds in seconds; they start low because a commit may take only 0.3 ms. */
const DURATION_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10,
];
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The metrics of the batches of this process. */
export class BatchMetrics {
  readonly #sizes = createHistogram('notes_batch_items', 'Items in a batch.', SIZE_BUCKETS);
  readonly #durations = createHistogram(
    'notes_batch_duration_seconds',
    'Duration of a batch; for writes, until they are on disk.',
    DURATION_BUCKETS,
  );
  readonly #queues: Readonly<Record<BatchKind, (() => number)[]>> = {
    read: [],
    page: [],
    write: [],
  };
  readonly histograms: readonly Histogram[] = [this.#sizes, this.#durations];
  readonly meters: Readonly<Record<BatchKind, BatchMeter>> = {
    read: this.#meterOf('read'),
    page: this.#meterOf('page'),
    write: this.#meterOf('write'),
  };

  constructor(registry: Registry) {
    const queues = Object.entries(this.#queues);
    new Gauge({
      name: 'notes_batch_waiting',
      help: 'Items that wait for the next batch.',
      labelNames: ['batch'],
      registers: [registry],
      collect() {
        for (const [batch, lengths] of queues) {
          const waiting = lengths.reduce((sum, length) => sum + length(), 0);
          this.set({ batch }, waiting);
        }
      },
    });
  }

  #meterOf(batch: BatchKind): BatchMeter {
    const size = this.#sizes.addSeries({ batch });
    const duration = this.#durations.addSeries({ batch });
    return {
      watch: (waiting) => this.#queues[batch].push(waiting),
      done(items, milliseconds) {
        size(items);
        duration(milliseconds / 1e3);
      },
    };
  }
}
