// The primitives by which threads coordinate: in one thread, and on several. A waiting thread
// continues only if the other side changes the same cells, before or during the wait; a spurious
// wake-up is not enough.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Barrier, BoundedQueue, END, Event, Mutex, Semaphore } from '../../src/concurrency/sync.ts';
import { testPrimitives } from './sync-orders.ts';
import type { Call } from './test-thread.ts';
import { TestThreads } from './test-threads.ts';

test('barrier: one party never waits', () => {
  const alone = new Barrier(Barrier.cells(1));
  for (let round = 0; round < 3; round += 1) alone.arrive();
});

test('queue: reports its depth and keeps the order, around the ring and more than once', () => {
  const queue = new BoundedQueue(BoundedQueue.cells(2));
  for (const value of [0, 1, 2, 3, 4, END, 2 ** 31 - 1, -(2 ** 31)]) {
    assert.deepEqual([queue.put(value), queue.put(7)], [1, 2]);
    assert.deepEqual([queue.take(), queue.take()], [value, 7]);
  }
});

const SIZE = 3;
const threads = new TestThreads({ after }, SIZE);

/** A call that must wait. */
interface Wait {
  readonly call: Omit<Call, 'cells'>;
  readonly cells: Int32Array;
  /** What the main thread does to release threads, and how many it releases each time. */
  readonly release: (cells: Int32Array) => unknown;
  readonly released: number;
  /** What the call returns. */
  readonly returned?: number;
}

const held = new Mutex(Mutex.cells());
held.lock();
const full = new BoundedQueue(BoundedQueue.cells(1));
full.put(8);

const WAITS: Readonly<Record<string, Wait>> = {
  'mutex: each unlock admits one sleeper': {
    call: { primitive: 'Mutex', method: 'lock' },
    cells: held.cells,
    release: () => held.unlock(),
    released: 1,
  },
  'semaphore: each release admits one sleeper': {
    call: { primitive: 'Semaphore', method: 'acquire' },
    cells: Semaphore.cells(0),
    release: (cells) => new Semaphore(cells).release(),
    released: 1,
  },
  'event: a set releases all sleepers': {
    call: { primitive: 'Event', method: 'wait' },
    cells: Event.cells(),
    release: (cells) => new Event(cells).set(),
    released: SIZE,
  },
  'barrier: the last arrival releases all sleepers': {
    call: { primitive: 'Barrier', method: 'arrive' },
    cells: Barrier.cells(SIZE + 1),
    release: (cells) => new Barrier(cells).arrive(),
    released: SIZE,
  },
  'queue: each put gives one sleeper its value': {
    call: { primitive: 'BoundedQueue', method: 'take' },
    cells: BoundedQueue.cells(SIZE),
    release: (cells) => new BoundedQueue(cells).put(7),
    released: 1,
    returned: 7,
  },
  'queue: each take lets one sleeper put': {
    call: { primitive: 'BoundedQueue', method: 'put', args: [9] },
    cells: full.cells,
    release: () => full.take(),
    released: 1,
    returned: 1,
  },
};

for (const [title, { call, cells, release, released, returned }] of Object.entries(WAITS)) {
  test(title, async () => {
    threads.watch(cells);
    for (let thread = 0; thread < SIZE; thread += 1)
      threads.start(thread, 'call', { ...call, cells });
    const allAsleep = { paused: [], asleep: SIZE };
    assert.deepEqual(await threads.settle(), allAsleep);
    const woken = cells.reduce((sum, _, cell) => sum + Atomics.notify(cells, cell), 0);
    assert.equal(woken, SIZE);
    assert.deepEqual(await threads.settle(), allAsleep, 'a thread was woken in vain and ran');
    for (let left = SIZE - released; left >= 0; left -= released) {
      release(cells);
      assert.deepEqual(await threads.settle(), { paused: [], asleep: left });
    }
    for (const { value } of await threads.end()) assert.equal(value, returned);
  });
}

testPrimitives(threads, 1);
