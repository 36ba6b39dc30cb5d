// Shows that a waiting thread continues only if the other side changes the same cells, before or
// during the wait. A spurious wake-up is not enough.
import assert from 'node:assert/strict';
import { type Check, MAX_THREADS } from './check.ts';
import type { Call, Sync } from './test-thread.ts';
import { wakeInVain } from './test-threads.ts';

/** A call that must wait. */
interface Wait {
  readonly title: string;
  readonly call: Omit<Call, 'cells'>;
  /** Makes the cells, and the action of the main thread that releases threads. */
  readonly stage: (sync: Sync) => { readonly cells: Int32Array; readonly release: () => void };
  /** How many threads one action releases. */
  readonly released: number;
  /** What the call returns. */
  readonly returned?: number;
  readonly mutants: Check['mutants'];
}

const anyWake = (loop: string) =>
  ['a wake-up that is enough', loop, loop.replace('while', 'if')] as const;

const WAITS: readonly Wait[] = [
  {
    title: 'mutex: each unlock admits one sleeper',
    call: { primitive: 'Mutex', method: 'lock' },
    stage(sync) {
      const cells = sync.Mutex.cells();
      const mutex = new sync.Mutex(cells);
      mutex.lock();
      return { cells, release: () => mutex.unlock() };
    },
    released: 1,
    mutants: [
      anyWake('while (Atomics.exchange(cells, LOCK'),
      ['a lock that all may have', 'for (let spin = 0;', 'return; for (let spin = 0;'],
      ['an unlock that wakes nobody', 'Atomics.notify(this.cells, LOCK, 1)', '0'],
      [
        'a sleeper that takes the lock as if it were the last',
        'while (Atomics.exchange(',
        'while (Atomics.compareExchange(cells, LOCK, FREE, HELD) !== FREE && Atomics.exchange(',
      ],
    ],
  },
  {
    title: 'semaphore: each release admits one sleeper',
    call: { primitive: 'Semaphore', method: 'acquire' },
    stage(sync) {
      const cells = sync.Semaphore.cells(0);
      const semaphore = new sync.Semaphore(cells);
      return { cells, release: () => semaphore.release() };
    },
    released: 1,
    mutants: [
      anyWake('while (!this.#tryAcquire())'),
      [
        'a release of two permits',
        'Atomics.add(this.cells, PERMITS, 1);',
        'Atomics.add(this.cells, PERMITS, 2); Atomics.notify(this.cells, PERMITS);',
      ],
      ['a release that wakes nobody', 'Atomics.notify(this.cells, PERMITS, 1)', '0'],
      ['sleepers that are not counted', 'Atomics.add(this.cells, SLEEPERS, 1)', '0'],
      ['a permit too many', '[PERMITS]: permits }', '[PERMITS]: permits + 1 }'],
    ],
  },
  {
    title: 'event: a set releases all sleepers',
    call: { primitive: 'Event', method: 'wait' },
    stage(sync) {
      const cells = sync.Event.cells();
      const event = new sync.Event(cells);
      return { cells, release: () => event.set() };
    },
    released: MAX_THREADS,
    mutants: [
      anyWake('while (!this.isSet())'),
      ['a set that wakes nobody', 'Atomics.notify(this.cells, STATE)', '0'],
      ['a set that wakes one', 'notify(this.cells, STATE)', 'notify(this.cells, STATE, 1)'],
    ],
  },
  {
    title: 'barrier: the last arrival releases all sleepers',
    call: { primitive: 'Barrier', method: 'arrive' },
    stage(sync) {
      const cells = sync.Barrier.cells(MAX_THREADS + 1);
      return { cells, release: () => new sync.Barrier(cells).arrive() };
    },
    released: MAX_THREADS,
    mutants: [
      anyWake('while (Atomics.load(cells, GENERATION) === generation'),
      ['a barrier that holds nobody', '+ 1 <', '+ 1 >'],
      ['a last thread that wakes one', 'notify(cells, GENERATION)', 'notify(cells, GENERATION, 1)'],
    ],
  },
  {
    title: 'queue: each put gives one sleeper its value',
    call: { primitive: 'BoundedQueue', method: 'take' },
    stage(sync) {
      const cells = sync.BoundedQueue.cells(MAX_THREADS);
      return { cells, release: () => new sync.BoundedQueue(cells).put(7) };
    },
    released: 1,
    returned: 7,
    mutants: [['values that nobody hears of', 'this.#filled.release()', '0']],
  },
  {
    title: 'queue: each take lets one sleeper put',
    call: { primitive: 'BoundedQueue', method: 'put', args: [9] },
    stage(sync) {
      const cells = sync.BoundedQueue.cells(1);
      const queue = new sync.BoundedQueue(cells);
      queue.put(8);
      return { cells, release: () => queue.take() };
    },
    released: 1,
    returned: 1,
    mutants: [
      ['a queue without bound', 'this.#room.acquire()', '0'],
      ['room that is not given back', 'this.#room.release()', '0'],
    ],
  },
];

/** The checks; all rounds of them are the same. */
export const WAIT_CHECKS: readonly Check[] = WAITS.map(
  ({ title, call, stage, released, returned, mutants }) => ({
    title,
    mutants,
    async run(threads) {
      const { cells, release } = stage(threads.sync);
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
