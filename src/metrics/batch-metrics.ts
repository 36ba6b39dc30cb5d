// Metrics of the batches of database reads and writes.
import type { BatchMeter } from '../storage/batches/batcher.ts';
import { Histogram } from './histogram.ts';
import { labelsText, type Readings, type Series } from './snapshot.ts';

type BatchKind = 'read' | 'page' | 'write';

/** Upper bounds in seconds; they start low because a commit may take only 0.3 ms. */
const DURATION_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10,
];
const SIZE_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** The metrics of the batches of this process. */
export class BatchMetrics {
  readonly #sizes = new Histogram(SIZE_BOUNDS);
  readonly #durations = new Histogram(DURATION_BOUNDS);
  readonly #queues: { batch: BatchKind; length: () => number }[] = [];
  readonly meters: Readonly<Record<BatchKind, BatchMeter>> = {
    read: this.#meterOf('read'),
    page: this.#meterOf('page'),
    write: this.#meterOf('write'),
  };
  readonly readings: Readings = {
    notes_batch_items: () => this.#sizes.read(),
    notes_batch_duration_seconds: () => this.#durations.read(),
    notes_batch_waiting: () => this.#waiting(),
  };

  #meterOf(batch: BatchKind): BatchMeter {
    const size = this.#sizes.addSeries({ batch });
    const duration = this.#durations.addSeries({ batch });
    return {
      watch: (length) => this.#queues.push({ batch, length }),
      done(items, milliseconds) {
        size(items);
        duration(milliseconds / 1e3);
      },
    };
  }

  #waiting(): Series {
    const series = Object.keys(this.meters).map((batch) => {
      const queues = this.#queues.filter((queue) => queue.batch === batch);
      return [labelsText({ batch }), queues.reduce((sum, { length }) => sum + length(), 0)];
    });
    return Object.fromEntries(series);
  }
}
