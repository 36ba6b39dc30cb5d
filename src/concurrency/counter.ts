// POST /counter/increment: several threads increment one shared number under a mutex.
import { Mutex, sharedCells } from './sync.ts';
import { demonstration } from './thread.ts';

const VALUE = 0;

/** Counts with a mutex; the answer says whether an increment was lost. */
export const counter = demonstration({
  prepare({ workers, count }: { workers: number; count: number }) {
    const input = { lock: Mutex.cells(), counter: sharedCells(1), count };
    return {
      inputs: Array.from({ length: workers }, () => input),
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
});
