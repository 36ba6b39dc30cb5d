// POST /counter/increment: threads increment one number. An increment reads, adds and writes;
// without a mutex around these steps, two threads could write the same number.
import type { Demonstration } from './demonstration.ts';
import { mutexCells, openMutex, sharedCells } from './sync.ts';

interface Request {
  readonly workers: number;
  readonly count: number;
}

interface Input {
  readonly lock: Int32Array;
  readonly counter: Int32Array;
  readonly count: number;
}

const VALUE = 0;

/** Demonstrates a mutex. */
export const counter: Demonstration<Request, Input, void> = {
  prepare({ workers, count }) {
    const input: Input = { lock: mutexCells(), counter: sharedCells(1), count };
    return {
      size: workers,
      inputFor: () => input,
      answer() {
        const expected = workers * count;
        const actual = Atomics.load(input.counter, VALUE);
        return JSON.stringify({ expected, actual, consistent: actual === expected });
      },
    };
  },

  work({ lock, counter, count }) {
    const mutex = openMutex(lock);
    for (let round = 0; round < count; round += 1) {
      mutex.lock();
      // Not atomic by itself; the mutex makes it safe.
      counter[VALUE] = (counter[VALUE] ?? 0) + 1;
      mutex.unlock();
    }
  },
};
