// Shows that a waiting thread continues only if the other side changes the same cells, before or
// during the wait. A spurious wake-up is not enough.
import assert from 'node:assert/strict';
import * as sync from '../../src/concurrency/sync.ts';
import { type Check, MAX_THREADS } from './check.ts';
import type { Call } from './test-thread.ts';
import { wakeInVain } from './test-threads.ts';

/** A call that must wait. */
interface Wait {
  readonly title: string;
  readonly call: Omit<Call, 'cells'>;
  /** Makes the cells, and the action of the main thread that releases threads. */
  readonly stage: () => { readonly cells: Int32Array; readonly release: () => void };
  /** How many threads one action releases. */
  readonly released: number;
  /** What the call returns. */
  readonly returned?: number;
}

const WAITS: readonly Wait[] = [
  {
    title: 'mutex: each unlock admits one sleeper',
    call: { primitive: 'Mutex', method: 'lock' },
    stage() {
      const cells = sync.Mutex.cells();
      const mutex = new sync.Mutex(cells);
      mutex.lock();
      return { cells, release: () => mutex.unlock() };
    },
    released: 1,
  },
  {
    title: 'semaphore: each release admits one sleeper',
    call: { primitive: 'Semaphore', method: 'acquire' },
    stage() {
      const cells = sync.Semaphore.cells(0);
      const semaphore = new sync.Semaphore(cells);
      return { cells, release: () => semaphore.release() };
    },
    released: 1,
  },
  {
    title: 'event: a set releases all sleepers',
    call: { primitive: 'Event', method: 'wait' },
    stage() {
      const cells = sync.Event.cells();
      const event = new sync.Event(cells);
      return { cells, release: () => event.set() };
    },
    released: MAX_THREADS,
  },
  {
    title: 'barrier: the last arrival releases all sleepers',
    call: { primitive: 'Barrier', method: 'arrive' },
    stage() {
      const cells = sync.Barrier.cells(MAX_THREADS + 1);
      return { cells, release: () => new sync.Barrier(cells).arrive() };
    },
    released: MAX_THREADS,
  },
  {
    title: 'queue: each put gives one sleeper its value',
    call: { primitive: 'BoundedQueue', method: 'take' },
    stage() {
      const cells = sync.BoundedQueue.cells(MAX_THREADS);
      return { cells, release: () => new sync.BoundedQueue(cells).put(7) };
    },
    released: 1,
    returned: 7,
  },
  {
    title: 'queue: each take lets one sleeper put',
    call: { primitive: 'BoundedQueue', method: 'put', args: [9] },
    stage() {
      const cells = sync.BoundedQueue.cells(1);
      const queue = new sync.BoundedQueue(cells);
      queue.put(8);
      return { cells, release: () => queue.take() };
    },
    released: 1,
    returned: 1,
  },
];

/** The checks; all rounds of them are the same. */
export const WAIT_CHECKS: readonly Check[] = WAITS.map(
  ({ title, call, stage, released, returned }) => ({
    title,
    async run(threads) {
      const { cells, release } = stage();
      threads.watch(cells);
      const allAsleep = { paused: [], asleep: MAX_THREADS };
      for (let thread = 0; thread < MAX_THREADS; thread += 1)
        threads.start(thread, 'call', { ...call, cells });
      assert.deepEqual(await threads.settle(), allAsleep);
      assert.equal(wakeInVain(cells), MAX_THREADS);
      assert.deepEqual(await threads.settle(), allAsleep, 'a thread was woken in vain and ran');
      for (let left = MAX_THREADS - released; left >= 0; left -= released) {
        release();
        const { asleep } = await threads.settle();
        assert.ok(asleep === left, `${left} were to sleep on, not ${asleep}`);
      }
      for (const { value } of await threads.end()) assert.equal(value, returned);
    },
  }),
);
