// POST /counter/increment: threads add to one number. Reading it, adding one and writing it back are three steps; only
// the lock around them keeps two threads from writing back the same number.
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

/** The demonstration of a mutex. Specification, section 4.6: all increments go through a lock. */
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
      // No Atomics here: it is the mutex that makes this right.
      counter[VALUE] = (counter[VALUE] ?? 0) + 1;
      mutex.unlock();
    }
  },
};
