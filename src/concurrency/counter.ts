// POST /counter/increment: several threads increment one shared number under a mutex.
import { Mutex, sharedCells } from './sync.ts';
import type { Demonstration } from './thread.ts';

interface Input {
  readonly lock: Int32Array;
  readonly counter: Int32Array;
  readonly count: number;
}

const VALUE = 0;

/** Counts with a mutex; the answer says whether an increment was lost. */
export const counter: Demonstration<{ workers: number; count: number }, Input, void> = {
  prepare({ workers, count }) {
    const input: Input = { lock: Mutex.cells(), counter: sharedCells(1), count };
    return {
      inputs: Array(workers).fill(input),
      answer() {
        const expected = workers * count;
        const actual = Atomics.load(input.counter, VALUE);
        return JSON.stringify({ expected, actual, consistent: actual === expected });
      },
    };
  },

  work({ lock, counter, count }) {
    const mutex = new Mutex(lock);
    for (let round = 0; round < count; round += 1) {
      mutex.lock();
      counter[VALUE] = (counter[VALUE] ?? 0) + 1;
      mutex.unlock();
    }
  },
};
