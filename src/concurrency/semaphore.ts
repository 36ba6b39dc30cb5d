// POST /semaphore/run: threads run tasks, and a semaphore with fewer permits than threads limits
// how many of them run at once.
import type { Demonstration } from './demonstration.ts';
import { barrierCells, openBarrier, openSemaphore, semaphoreCells, sharedCells } from './sync.ts';

interface Request {
  readonly task_ids: readonly number[];
  readonly concurrency_limit: number;
}

interface Input {
  readonly permits: Int32Array;
  /** The barrier at which the first tasks wait until all permits are taken. */
  readonly allTaken: Int32Array;
  /** Counters, at the indexes below. */
  readonly progress: Int32Array;
  /** The indexes of the tasks, in the order in which they finish. */
  readonly finished: Int32Array;
  readonly limit: number;
}

/** With two threads per permit, half of the threads have to wait. */
const THREADS_PER_PERMIT = 2;

// The cells of `progress`. PEAK is the highest value that RUNNING has reached.
const HANDED_OUT = 0;
const ENTERED = 1;
const RUNNING = 2;
const PEAK = 3;
const FINISHED = 4;

/** Demonstrates a semaphore. */
export const semaphore: Demonstration<Request, Input, void> = {
  prepare({ task_ids, concurrency_limit }) {
    const total = task_ids.length;
    const limit = Math.min(total, concurrency_limit);
    const input: Input = {
      permits: semaphoreCells(concurrency_limit),
      allTaken: barrierCells(limit),
      progress: sharedCells(FINISHED + 1),
      finished: sharedCells(total),
      limit,
    };
    return {
      size: Math.min(total, THREADS_PER_PERMIT * concurrency_limit),
      inputFor: () => input,
      answer() {
        const peak_concurrency = Atomics.load(input.progress, PEAK);
        const completed = Array.from(input.finished, (index) => task_ids[index]);
        return JSON.stringify({ total, concurrency_limit, peak_concurrency, completed });
      },
    };
  },

  work({ permits, allTaken, progress, finished, limit }) {
    const semaphore = openSemaphore(permits);
    const barrier = openBarrier(allTaken);
    const next = () => Atomics.add(progress, HANDED_OUT, 1);
    for (let task = next(); task < finished.length; task = next()) {
      semaphore.acquire();
      raise(progress, PEAK, Atomics.add(progress, RUNNING, 1) + 1);
      // The tasks are so short that all could finish before a second thread wakes up. Therefore the
      // first ones wait here until every permit is taken.
      if (Atomics.add(progress, ENTERED, 1) < limit) barrier.arrive();
      finished[Atomics.add(progress, FINISHED, 1)] = task;
      Atomics.sub(progress, RUNNING, 1);
      semaphore.release();
    }
  },
};

/** Raises the cell to `value` unless it is higher already. */
function raise(cells: Int32Array, cell: number, value: number): void {
  let seen = Atomics.load(cells, cell);
  while (seen < value) {
    const before = Atomics.compareExchange(cells, cell, seen, value);
    if (before === seen) return;
    seen = before;
  }
}
