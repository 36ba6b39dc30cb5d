// The primitives by which threads coordinate: in one thread, and checked on several.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Barrier, BoundedQueue, END, Mutex } from '../../src/concurrency/sync.ts';
import { testChecks } from './check.ts';
import { ORDER_CHECKS } from './sync-orders.ts';
import { WAIT_CHECKS } from './sync-waits.ts';

test('mutex: an unlock of a free one throws and changes nothing', () => {
  const mutex = new Mutex(Mutex.cells());
  for (let round = 0; round < 2; round += 1) {
    assert.throws(() => mutex.unlock(), /nobody held/);
    mutex.lock();
    mutex.unlock();
  }
});

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

testChecks(WAIT_CHECKS, 1);
testChecks(ORDER_CHECKS, 1);
