// Shows that a waiting thread continues only if the other side changes the same cells, before or
// during the wait. A spurious wake-up is not enough.
import assert from 'node:assert/strict';
import { type Check, type Mutant, mutant, upTo } from './check.ts';
import type { Call, Sync } from './test-thread.ts';
import { type TestThreads, wakeInVain } from './test-threads.ts';

const SLEEPERS = 3;

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
  readonly mutants: readonly Mutant[];
}

const anyWake = (loop: string) =>
  mutant('a wake-up that is enough', loop, loop.replace('while', 'if'), /woken in vain/);

const WAITS: readonly Wait[] = [
  {
    title: 'mutex: each unlock admits one sleeper',
    call: { open: 'openMutex', method: 'lock' },
    stage(sync) {
      const cells = sync.mutexCells();
      const mutex = sync.openMutex(cells);
      mutex.lock(0);
      return { cells, release: mutex.unlock };
    },
    released: 1,
    mutants: [anyWake('while (Atomics.exchange(cells, LOCK')],
  },
  {
    title: 'semaphore: each release admits one sleeper',
    call: { open: 'openSemaphore', method: 'acquire' },
    stage(sync) {
      const cells = sync.semaphoreCells(0);
      return { cells, release: sync.openSemaphore(cells).release };
    },
    released: 1,
    mutants: [
      anyWake('while (!takePermit())'),
      mutant(
        'a release of two permits',
        'Atomics.add(cells, PERMITS, 1);',
        'Atomics.add(cells, PERMITS, 2); Atomics.notify(cells, PERMITS);',
        /sleep on/,
      ),
    ],
  },
  {
    title: 'event: a set releases all sleepers',
    call: { open: 'openEvent', method: 'wait' },
    stage(sync) {
      const cells = sync.eventCells();
      return { cells, release: sync.openEvent(cells).set };
    },
    released: SLEEPERS,
    mutants: [anyWake('while (!isSet(seen)')],
  },
  {
    title: 'event: a set releases all although a reset follows',
    call: { open: 'openEvent', method: 'wait' },
    stage(sync) {
      const cells = sync.eventCells();
      const event = sync.openEvent(cells);
      return {
        cells,
        release() {
          wakingAtItsEnd(() => {
            event.set();
            event.reset();
          });
        },
      };
    },
    released: SLEEPERS,
    mutants: [
      mutant(
        'a wait for the event to be set',
        'while (!isSet(seen)',
        'while (!isSet(changes())) sleep(cells, CHANGES, changes(), deadline); while (false',
        /sleep on/,
      ),
    ],
  },
  {
    title: 'barrier: the last arrival releases all sleepers',
    call: { open: 'openBarrier', method: 'arrive' },
    stage(sync) {
      const cells = sync.barrierCells(SLEEPERS + 1);
      return { cells, release: () => sync.openBarrier(cells).arrive(0) };
    },
    released: SLEEPERS,
    mutants: [anyWake('while (current() === generation')],
  },
  {
    title: 'queue: each put gives one sleeper its value',
    call: { open: 'openQueue', method: 'take' },
    stage(sync) {
      const cells = sync.queueCells(SLEEPERS);
      return { cells, release: () => sync.openQueue(cells).put(7, 0) };
    },
    released: 1,
    returned: 7,
    mutants: [anyWake('while (!takePermit())')],
  },
  {
    title: 'queue: each take lets one sleeper put',
    call: { open: 'openQueue', method: 'put', args: [9] },
    stage(sync) {
      const cells = sync.queueCells(1);
      const queue = sync.openQueue(cells);
      queue.put(8, 0);
      return { cells, release: () => queue.take(0) };
    },
    released: 1,
    returned: 1,
    mutants: [anyWake('while (!takePermit())')],
  },
];

/** Runs `action`; the threads that it wakes run only afterwards. */
function wakingAtItsEnd(action: () => void): void {
  const { notify } = Atomics;
  const calls: (() => number)[] = [];
  Atomics.notify = (...call: [never, number, number?]) => calls.push(() => notify(...call));
  try {
    action();
  } finally {
    Atomics.notify = notify;
  }
  for (const call of calls) call();
}

function waitCheck({ title, call, stage, released, returned, mutants }: Wait): Check {
  return {
    title,
    async run(threads) {
      const { cells, release } = stage(threads.sync);
      threads.watch(cells);
      const allAsleep = { ended: [], paused: [], asleep: SLEEPERS };
      for (const thread of upTo(SLEEPERS)) threads.start(thread, 'call', { ...call, cells });
      assert.deepEqual(await threads.settle(), allAsleep);
      assert.equal(wakeInVain(cells), SLEEPERS);
      assert.deepEqual(
        await threads.settle(),
        allAsleep,
        'a thread continued that was woken in vain',
      );
      for (let left = SLEEPERS - released; left >= 0; left -= released) {
        release();
        const { asleep } = await threads.settle();
        assert.ok(asleep === left, `${left} were to sleep on, not ${asleep}`);
      }
      for (const { value } of await threads.end()) assert.equal(value, returned);
    },
    mutants,
  };
}

const BROKEN_BARRIER: Check = {
  title: 'barrier: a time-out breaks it for sleepers and later arrivals',
  async run(threads) {
    const { sync } = threads;
    const cells = threads.watch(sync.barrierCells(SLEEPERS + 2));
    const startAll = () => {
      for (const thread of upTo(SLEEPERS)) {
        threads.start(thread, 'callInTime', { open: 'openBarrier', cells, method: 'arrive' });
      }
    };
    startAll();
    await threads.settle();
    assert.throws(() => sync.openBarrier(cells).arrive(0), sync.WaitTimeout);
    for (const { value } of await threads.end()) assert.equal(value, false);
    startAll();
    for (const { value } of await threads.end()) assert.equal(value, false);
  },
  mutants: [
    mutant(
      'a time-out that nobody hears of',
      'end(generation, BROKEN)',
      "throw new WaitTimeout('')",
      /sleep for good/,
    ),
  ],
};

const OTHER_SIDE: Check = {
  title: 'mutex, semaphore, event: either side sees what the other did',
  async run(threads) {
    const { sync } = threads;
    const cells = {
      mutex: sync.mutexCells(),
      semaphore: sync.semaphoreCells(0),
      event: sync.eventCells(),
    };
    threads.watch(...Object.values(cells));
    const mutex = sync.openMutex(cells.mutex);
    const semaphore = sync.openSemaphore(cells.semaphore);
    const event = sync.openEvent(cells.event);

    await callOn(threads, 'openMutex', cells.mutex, 'lock');
    assert.throws(() => mutex.lock(0), sync.WaitTimeout);
    mutex.unlock();
    await callOn(threads, 'openMutex', cells.mutex, 'lock');
    await callOn(threads, 'openMutex', cells.mutex, 'unlock');
    mutex.lock(0);

    await callOn(threads, 'openSemaphore', cells.semaphore, 'release');
    semaphore.acquire(0);
    assert.throws(() => semaphore.acquire(0), sync.WaitTimeout);
    semaphore.release();
    await callOn(threads, 'openSemaphore', cells.semaphore, 'acquire');

    event.set();
    await callOn(threads, 'openEvent', cells.event, 'wait');
    await callOn(threads, 'openEvent', cells.event, 'wait');
    assert.equal(await callOn(threads, 'openEvent', cells.event, 'isSet'), true);
    event.reset();
    assert.equal(await callOn(threads, 'openEvent', cells.event, 'isSet'), false);
    await callOn(threads, 'openEvent', cells.event, 'set');
    assert.equal(event.isSet(), true);
    await callOn(threads, 'openEvent', cells.event, 'reset');
    assert.equal(event.isSet(), false);
  },
  mutants: [],
};

/** Calls a method on another thread and resolves with what it returns. */
async function callOn(
  threads: TestThreads,
  open: Call['open'],
  cells: Int32Array,
  method: string,
): Promise<unknown> {
  threads.start(0, 'call', { open, cells, method });
  const [outcome] = await threads.end();
  return outcome?.value;
}

/** The checks; all rounds of them are the same. */
export const WAIT_CHECKS: readonly Check[] = [...WAITS.map(waitCheck), BROKEN_BARRIER, OTHER_SIDE];
