// POST /semaphore/run: more threads than permits run tasks, and a semaphore lets only so many of them run at one time.
import type { Demonstration } from './demonstration.ts';
import { barrierCells, openBarrier, openSemaphore, semaphoreCells, sharedCells } from './sync.ts';

interface Request {
  readonly task_ids: readonly number[];
  readonly concurrency_limit: number;
}

interface Input {
  readonly permits: Int32Array;
  /** Where those wait who took the first permits, until all of them are taken. */
  readonly full: Int32Array;
  readonly progress: Int32Array;
  /** The tasks by their place in the request, in the order in which they finish. */
  readonly finished: Int32Array;
  readonly limit: number;
}

/** Threads for each permit: with twice as many, half of them have to wait. */
const THREADS_PER_PERMIT = 2;

// The cells of `progress`: how many tasks have been handed out, were let in, run now, ran at once at most, have finished.
const HANDED_OUT = 0;
const ENTERED = 1;
const RUNNING = 2;
const PEAK = 3;
const FINISHED = 4;

/** The demonstration of a semaphore. Specification, section 4.6: at most `concurrency_limit` tasks run at one time. */
export const semaphore: Demonstration<Request, Input, void> = {
  prepare({ task_ids, concurrency_limit }) {
    const total = task_ids.length;
    const limit = Math.min(total, concurrency_limit);
    const input: Input = {
      permits: semaphoreCells(concurrency_limit),
      full: barrierCells(limit),
      progress: sharedCells(FINISHED + 1),
      finished: sharedCells(total),
      limit,
    };
    return {
      size: Math.min(total, THREADS_PER_PERMIT * concurrency_limit),
      inputFor: () => input,
      answer() {
        const peak_concurrency = Atomics.load(input.progress, PEAK);
        const completed = Array.from(input.finished, (place) => task_ids[place]);
        return JSON.stringify({ total, concurrency_limit, peak_concurrency, completed });
      },
    };
  },

  work({ permits, full, progress, finished, limit }) {
    const semaphore = openSemaphore(permits);
    const allTaken = openBarrier(full);
    const next = () => Atomics.add(progress, HANDED_OUT, 1);
    for (let task = next(); task < finished.length; task = next()) {
      semaphore.acquire();
      raise(progress, PEAK, Atomics.add(progress, RUNNING, 1) + 1);
      // Tasks as short as these could all be over before a second thread wakes up; so the first ones wait for each other.
      if (Atomics.add(progress, ENTERED, 1) < limit) allTaken.arrive();
      finished[Atomics.add(progress, FINISHED, 1)] = task;
      Atomics.sub(progress, RUNNING, 1);
      semaphore.release();
    }
  },
};

/** Makes a cell hold the largest value it was ever raised to. */
function raise(cells: Int32Array, cell: number, value: number): void {
  let seen = Atomics.load(cells, cell);
  while (seen < value) {
    const before = Atomics.compareExchange(cells, cell, seen, value);
    if (before === seen) return;
    seen = before;
  }
}
