// The primitives by which threads coordinate: in one thread, and checked on several.
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
import { testChecks } from './check.ts';
import { ORDER_CHECKS } from './sync-orders.ts';
import { ROUND_CHECKS } from './sync-rounds.ts';
import { WAIT_CHECKS } from './sync-waits.ts';

const LIMITS_MS = [0, 5];

/** The cell of a queue that is its lock. */
const QUEUE_LOCK = 2;

/** Asserts that a wait times out, not before its limit and not much later. */
function assertTimesOut(wait: (limitMs: number) => void, limitMs: number): void {
  const started = performance.now();
  assert.throws(() => wait(limitMs), WaitTimeout);
  const waited = performance.now() - started;
  assert.ok(waited >= limitMs && waited < WAIT_LIMIT_MS / 2, `${waited} ms`);
}

/** Asserts that a wait times out, at once as well as after a while, and that it changes nothing. */
function assertWaitsInVain(cells: Int32Array, wait: (limitMs: number) => void): void {
  const before = cells.slice();
  for (const limitMs of LIMITS_MS) assertTimesOut(wait, limitMs);
  assert.deepEqual(cells, before);
}

test('mutex: times out while held, free after an unlock', () => {
  const mutex = openMutex(mutexCells());
  for (let round = 0; round < 2; round += 1) {
    mutex.lock(0);
    for (const limitMs of LIMITS_MS) assertTimesOut(mutex.lock, limitMs);
    mutex.unlock();
  }
});

test('mutex: an unlock of a free one throws and changes nothing', () => {
  const mutex = openMutex(mutexCells());
  for (let round = 0; round < 2; round += 1) {
    assert.throws(() => mutex.unlock(), /nobody held/);
    mutex.lock(0);
    mutex.unlock();
  }
});

test('semaphore: times out without a permit, keeps later ones', () => {
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

test('event: times out until set, and again after a reset', () => {
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

test('barrier: a time-out breaks it; one party never waits', () => {
  for (const limitMs of LIMITS_MS) {
    const { arrive } = openBarrier(barrierCells(2));
    assertTimesOut(arrive, limitMs);
    for (let arrival = 0; arrival < 4; arrival += 1) assertTimesOut(() => arrive(), 0);
  }
  const alone = openBarrier(barrierCells(1));
  for (let round = 0; round < 3; round += 1) alone.arrive(0);
});

test('queue: reports its depth, times out when full or empty', () => {
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

test('queue: a time-out at its lock changes nothing', () => {
  const cells = queueCells(2);
  const queue = openQueue(cells);
  const lock = openMutex(cells.subarray(QUEUE_LOCK, QUEUE_LOCK + 1));
  queue.put(1, 0);
  for (const limitMs of LIMITS_MS) {
    lock.lock(0);
    assertTimesOut((within) => queue.put(9, within), limitMs);
    assertTimesOut(queue.take, limitMs);
    lock.unlock();
  }
  assert.equal(queue.put(2, 0), 2);
  assert.deepEqual([queue.take(0), queue.take(0)], [1, 2]);
});

testChecks(WAIT_CHECKS, 1);
testChecks(ROUND_CHECKS, 400);
testChecks(ORDER_CHECKS, 1);
