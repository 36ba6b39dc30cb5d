// What a waiting thread is let through by: what the other side does with the same cells, and nothing else. Waking up for
// nothing is no reason, what was done before need not be waited for, and a time-out leaves all as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  barrierCells,
  END,
  eventCells,
  mutexCells,
  openBarrier,
  openEvent,
  openMutex,
  openQueue,
  openSemaphore,
  queueCells,
  semaphoreCells,
  WAIT_LIMIT_MS,
  WaitTimeout,
} from '../../src/concurrency/sync.ts';
import { check, type Slip, slip, upTo } from './check.ts';
import type { Call, Sync } from './puppet.ts';
import { wakeInVain } from './puppets.ts';

const SLEEPERS = 3;

/** The cell of a queue that is its lock. */
const QUEUE_LOCK = 2;

/** A call that has to wait. */
interface Wait {
  readonly title: string;
  readonly call: Omit<Call, 'cells'>;
  /** Makes the cells, and says what the main thread does to let threads through. */
  readonly stage: (sync: Sync) => { readonly cells: Int32Array; readonly letThrough: () => void };
  /** How many threads are let through at once. */
  readonly passing: number;
  /** What the call returns. */
  readonly returned?: number;
  readonly slips: readonly Slip[];
}

const anyWake = (loop: string) => slip('a wake-up that is enough', loop, loop.replace('while', 'if'), /woken in vain/);

const WAITS: readonly Wait[] = [
  {
    title: 'threads that sleep at a mutex get it one after the other, by unlocking it for each',
    call: { open: 'openMutex', method: 'lock' },
    stage(sync) {
      const cells = sync.mutexCells();
      const mutex = sync.openMutex(cells);
      mutex.lock(0);
      return { cells, letThrough: mutex.unlock };
    },
    passing: 1,
    slips: [anyWake('while (Atomics.exchange(cells, LOCK')],
  },
  {
    title: 'threads that sleep at a semaphore are let in one after the other, by a release for each',
    call: { open: 'openSemaphore', method: 'acquire' },
    stage(sync) {
      const cells = sync.semaphoreCells(0);
      return { cells, letThrough: sync.openSemaphore(cells).release };
    },
    passing: 1,
    slips: [
      anyWake('while (!takePermit())'),
      slip(
        'a release of two permits',
        'Atomics.add(cells, PERMITS, 1);',
        'Atomics.add(cells, PERMITS, 2); Atomics.notify(cells, PERMITS);',
        /sleep on/,
      ),
    ],
  },
  {
    title: 'threads that sleep at an event are all let through by setting it',
    call: { open: 'openEvent', method: 'wait' },
    stage(sync) {
      const cells = sync.eventCells();
      return { cells, letThrough: sync.openEvent(cells).set };
    },
    passing: SLEEPERS,
    slips: [anyWake('while (!isSet(seen)')],
  },
  {
    title: 'threads that sleep at an event are all let through although it is reset before they run again',
    call: { open: 'openEvent', method: 'wait' },
    stage(sync) {
      const cells = sync.eventCells();
      const event = sync.openEvent(cells);
      return {
        cells,
        letThrough() {
          wakingAtItsEnd(() => {
            event.set();
            event.reset();
          });
        },
      };
    },
    passing: SLEEPERS,
    slips: [
      slip(
        'a wait for the event to be set',
        'while (!isSet(seen)',
        'while (!isSet(changes())) sleep(cells, CHANGES, changes(), deadline); while (false',
        /sleep on/,
      ),
    ],
  },
  {
    title: 'threads that sleep at a barrier are all let through by the last that comes',
    call: { open: 'openBarrier', method: 'arrive' },
    stage(sync) {
      const cells = sync.barrierCells(SLEEPERS + 1);
      return { cells, letThrough: () => sync.openBarrier(cells).arrive(0) };
    },
    passing: SLEEPERS,
    slips: [anyWake('while (current() === generation')],
  },
  {
    title: 'threads that sleep at an empty queue get values one after the other, by a put for each',
    call: { open: 'openQueue', method: 'take' },
    stage(sync) {
      const cells = sync.queueCells(SLEEPERS);
      return { cells, letThrough: () => sync.openQueue(cells).put(7, 0) };
    },
    passing: 1,
    returned: 7,
    slips: [anyWake('while (!takePermit())')],
  },
  {
    title: 'threads that sleep at a full queue put one after the other, by a take for each',
    call: { open: 'openQueue', method: 'put', args: [9] },
    stage(sync) {
      const cells = sync.queueCells(1);
      const queue = sync.openQueue(cells);
      queue.put(8, 0);
      return { cells, letThrough: () => queue.take(0) };
    },
    passing: 1,
    returned: 1,
    slips: [anyWake('while (!takePermit())')],
  },
];

/** Runs `action`, and has the threads that it wakes run only afterwards. */
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

for (const { title, call, stage, passing, returned, slips } of WAITS) {
  check(
    title,
    SLEEPERS,
    async (puppets) => {
      const { cells, letThrough } = stage(puppets.sync);
      puppets.watch(cells);
      const allAsleep = { ended: [], paused: [], asleep: SLEEPERS };
      for (const thread of upTo(SLEEPERS)) puppets.start(thread, 'call', { ...call, cells });
      assert.deepEqual(await puppets.rest(), allAsleep);
      assert.equal(wakeInVain(cells), SLEEPERS);
      assert.deepEqual(await puppets.rest(), allAsleep, 'a thread went on that was woken in vain');
      for (let left = SLEEPERS - passing; left >= 0; left -= passing) {
        letThrough();
        const { asleep } = await puppets.rest();
        assert.ok(asleep === left, `${left} were to sleep on, not ${asleep}`);
      }
      for (const { value } of await puppets.end()) assert.equal(value, returned);
    },
    slips,
  );
}

check('what either side has done the other sees, and need not wait for', 1, async (puppets) => {
  const { sync } = puppets;
  const [mutexCells, semaphoreCells, eventCells] = [sync.mutexCells(), sync.semaphoreCells(0), sync.eventCells()];
  puppets.watch(mutexCells, semaphoreCells, eventCells);
  const mutex = sync.openMutex(mutexCells);
  const semaphore = sync.openSemaphore(semaphoreCells);
  const event = sync.openEvent(eventCells);
  const thread = async (open: Call['open'], cells: Int32Array, method: string) => {
    puppets.start(0, 'call', { open, cells, method });
    const [outcome] = await puppets.end();
    return outcome?.value;
  };

  await thread('openMutex', mutexCells, 'lock');
  assert.throws(() => mutex.lock(0), sync.WaitTimeout);
  mutex.unlock();
  await thread('openMutex', mutexCells, 'lock');
  await thread('openMutex', mutexCells, 'unlock');
  mutex.lock(0);

  await thread('openSemaphore', semaphoreCells, 'release');
  semaphore.acquire(0);
  assert.throws(() => semaphore.acquire(0), sync.WaitTimeout);
  semaphore.release();
  await thread('openSemaphore', semaphoreCells, 'acquire');

  event.set();
  await thread('openEvent', eventCells, 'wait');
  await thread('openEvent', eventCells, 'wait');
  assert.equal(await thread('openEvent', eventCells, 'isSet'), true);
  event.reset();
  assert.equal(await thread('openEvent', eventCells, 'isSet'), false);
  await thread('openEvent', eventCells, 'set');
  assert.equal(event.isSet(), true);
  await thread('openEvent', eventCells, 'reset');
  assert.equal(event.isSet(), false);
});

/** Waits in vain for so long, and asserts that it was neither shorter nor without end. */
function assertTimesOut(wait: (limitMs: number) => void, limitMs: number, error = WaitTimeout) {
  const started = performance.now();
  assert.throws(() => wait(limitMs), error);
  const waited = performance.now() - started;
  assert.ok(waited >= limitMs && waited < WAIT_LIMIT_MS / 2, `${waited} ms`);
}

/** Asserts that a wait times out, at once as well as after a while, and that it changes nothing. */
function assertWaitsInVain(cells: Int32Array, wait: (limitMs: number) => void) {
  const before = cells.slice();
  for (const limitMs of [0, 20]) assertTimesOut(wait, limitMs);
  assert.deepEqual(cells, before);
}

test('a mutex that is held times out, and is had once it is unlocked', () => {
  const mutex = openMutex(mutexCells());
  for (let round = 0; round < 2; round += 1) {
    mutex.lock(0);
    assertTimesOut(mutex.lock, 0);
    assertTimesOut(mutex.lock, 20);
    mutex.unlock();
  }
});

test('a mutex that nobody holds cannot be unlocked, and can be locked nevertheless', () => {
  const mutex = openMutex(mutexCells());
  for (let round = 0; round < 2; round += 1) {
    assert.throws(() => mutex.unlock(), /nobody held/);
    mutex.lock(0);
    mutex.unlock();
  }
});

test('a semaphore without a permit times out, and the permit that comes later is still there', () => {
  const cells = semaphoreCells(1);
  const semaphore = openSemaphore(cells);
  semaphore.acquire(0);
  assertWaitsInVain(cells, semaphore.acquire);
  semaphore.release();
  semaphore.release();
  semaphore.acquire(0);
  semaphore.acquire(0);
  assertWaitsInVain(cells, semaphore.acquire);
});

test('an event that is not set times out, and lets pass once it is set, until it is reset', () => {
  const cells = eventCells();
  const event = openEvent(cells);
  assertWaitsInVain(cells, event.wait);
  event.set();
  event.set();
  assert.equal(event.isSet(), true);
  event.wait(0);
  event.wait(0);
  event.reset();
  assertWaitsInVain(cells, event.wait);
});

check(
  'threads that sleep at a barrier hear that another has waited too long, and so does who comes later',
  SLEEPERS,
  async (puppets) => {
    const { sync } = puppets;
    const cells = puppets.watch(sync.barrierCells(SLEEPERS + 2));
    const inTime = { open: 'openBarrier', cells, method: 'arrive' } as const;
    for (const thread of upTo(SLEEPERS)) puppets.start(thread, 'callInTime', inTime);
    await puppets.rest();
    assertTimesOut(sync.openBarrier(cells).arrive, 0, sync.WaitTimeout);
    for (const { value } of await puppets.end()) assert.equal(value, false);
    for (const thread of upTo(SLEEPERS)) puppets.start(thread, 'callInTime', inTime);
    for (const { value } of await puppets.end()) assert.equal(value, false);
  },
  [slip('a time-out that nobody hears of', 'end(generation, BROKEN)', "throw new WaitTimeout('')", /sleep for good/)],
);

test('a barrier to which not all come times out and is broken then, and one for a single thread is none', () => {
  for (const limitMs of [0, 20]) {
    const { arrive } = openBarrier(barrierCells(2));
    assertTimesOut(arrive, limitMs);
    for (let arrival = 0; arrival < 4; arrival += 1) assertTimesOut(() => arrive(), 0);
  }
  const alone = openBarrier(barrierCells(1));
  for (let round = 0; round < 3; round += 1) alone.arrive(0);
});

test('a queue tells how many values it holds, and times out when it is full or empty', () => {
  const cells = queueCells(2);
  const queue = openQueue(cells);
  assertWaitsInVain(cells, queue.take);
  // Around the ring more than once.
  for (let value = 0; value < 5; value += 1) {
    assert.equal(queue.put(value, 0), 1);
    assert.equal(queue.put(-value - 2, 0), 2);
    assertWaitsInVain(cells, (limitMs) => queue.put(9, limitMs));
    assert.equal(queue.take(0), value);
    assert.equal(queue.take(0), -value - 2);
    assertWaitsInVain(cells, queue.take);
  }
  for (const value of [END, 2 ** 31 - 1, -(2 ** 31)]) {
    queue.put(value, 0);
    assert.equal(queue.take(0), value);
  }
});

test('a queue whose lock is held times out in time, and then has as much room and as many values as before', () => {
  const cells = queueCells(2);
  const queue = openQueue(cells);
  const lock = openMutex(cells.subarray(QUEUE_LOCK, QUEUE_LOCK + 1));
  queue.put(1, 0);
  for (const limitMs of [0, 20]) {
    lock.lock(0);
    assertTimesOut((within) => queue.put(9, within), limitMs);
    assertTimesOut(queue.take, limitMs);
    lock.unlock();
  }
  assert.equal(queue.put(2, 0), 2);
  assert.deepEqual([queue.take(0), queue.take(0)], [1, 2]);
});
