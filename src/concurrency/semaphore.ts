// POST /semaphore/run: a semaphore limits how many of the threads run tasks at once.
import { Barrier, Semaphore, sharedCells } from './sync.ts';
import { demonstration } from './thread.ts';

/** Demonstrates a semaphore. Each thread returns how many tasks it saw running at most. */
export const semaphore = demonstration({
  prepare({ task_ids, concurrency_limit }: { task_ids: number[]; concurrency_limit: number }) {
    const total = task_ids.length;
    const limit = Math.min(total, concurrency_limit);
    const input = {
      permits: Semaphore.cells(concurrency_limit),
      allTaken: Barrier.cells(limit),
      limit,
      // How many tasks have been taken by a thread, are running, and have finished.
      taken: sharedCells(1),
      running: sharedCells(1),
      finished: sharedCells(1),
      // The indexes of the tasks, in the order in which they finish.
      order: sharedCells(total),
    };
    return {
      // Half of the threads have to wait.
      inputs: Array.from({ length: Math.min(total, 2 * concurrency_limit) }, () => input),
      answer(peaks: readonly number[]) {
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
});
