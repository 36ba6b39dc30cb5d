// POST /semaphore/run: a semaphore limits how many of the threads run tasks at once.
import { Barrier, Semaphore, sharedCells } from './sync.ts';
import type { Demonstration } from './thread.ts';

interface Input {
  readonly permits: Int32Array;
  readonly allTaken: Int32Array;
  readonly limit: number;
  /** Three cells: how many tasks have been taken by a thread, are running, and have finished. */
  readonly taken: Int32Array;
  readonly running: Int32Array;
  readonly finished: Int32Array;
  /** The indexes of the tasks, in the order in which they finish. */
  readonly order: Int32Array;
}

/** Demonstrates a semaphore. Each thread returns how many tasks it saw running at most. */
export const semaphore: Demonstration<
  { task_ids: readonly number[]; concurrency_limit: number },
  Input,
  number
> = {
  prepare({ task_ids, concurrency_limit }) {
    const total = task_ids.length;
    const limit = Math.min(total, concurrency_limit);
    const input: Input = {
      permits: Semaphore.cells(concurrency_limit),
      allTaken: Barrier.cells(limit),
      limit,
      taken: sharedCells(1),
      running: sharedCells(1),
      finished: sharedCells(1),
      order: sharedCells(total),
    };
    return {
      // Half of the threads have to wait.
      inputs: Array(Math.min(total, 2 * concurrency_limit)).fill(input),
      answer(peaks) {
        const peak_concurrency = Math.max(...peaks);
        const completed = Array.from(input.order, (index) => task_ids[index]);
        return JSON.stringify({ total, concurrency_limit, peak_concurrency, completed });
      },
    };
  },

  work({ permits, allTaken, limit, taken, running, finished, order }) {
    const semaphore = new Semaphore(permits);
    const barrier = new Barrier(allTaken);
    const takeTask = () => Atomics.add(taken, 0, 1);
    let peak = 0;
    for (let task = takeTask(); task < order.length; task = takeTask()) {
      semaphore.acquire();
      peak = Math.max(peak, Atomics.add(running, 0, 1) + 1);
      // So short a task could finish before a second thread wakes up: wait until all have permits.
      if (task < limit) barrier.arrive();
      order[Atomics.add(finished, 0, 1)] = task;
      Atomics.sub(running, 0, 1);
      semaphore.release();
    }
    return peak;
  },
};
