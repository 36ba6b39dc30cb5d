// Leases: who gets idle threads, when more threads start, and when they end. The test moves the
// clock.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import {
  assertServes,
  enqueue,
  hold,
  identities,
  startPool,
  type WatchedPool,
} from './watched-pool.ts';

const LIMITS = { idleMs: 1_000, growMs: 50 };

/** A pool that has served one request with `threads` threads, which are idle now. */
async function usedPool(t: TestContext, threads: number) {
  const clock = stopTime(t);
  const pool = startPool(t, LIMITS);
  await assertServes(pool, threads);
  assertIdle(pool, threads);
  return { pool, clock };
}

function assertIdle(pool: WatchedPool, threads: number): void {
  assert.deepEqual(pool.counts(), { alive: threads, idle: threads, waiting: 0 });
}

const idsOf = (threads: readonly { readonly threadId: number }[]) =>
  threads.map(({ threadId }) => threadId);

test('leases: a thread serves one request after the other', async (t) => {
  const { pool } = await usedPool(t, 2);
  const first = await identities(pool, 2);
  const second = await identities(pool, 2);
  assert.deepEqual(idsOf(second), idsOf(first));
  assertIdle(pool, 2);
});

test('leases: nobody else uses a leased thread', async (t) => {
  const { pool } = await usedPool(t, 4);
  const held = [await hold(pool, 1), await hold(pool, 2)];
  const other = await identities(pool, 1);
  const answers = await Promise.all(held.map((each) => each.finish()));
  const ids = idsOf([...answers.flat(), ...other]);
  assert.equal(new Set(ids).size, 4);
  assertIdle(pool, 4);
});

test('leases: a larger request takes the idle threads, only the missing ones start', async (t) => {
  const { pool } = await usedPool(t, 2);
  await assertServes(pool, 5);
  assert.equal(pool.started.length, 5);
});

test('leases: a request waits for a lease that ends soon, and starts no thread', async (t) => {
  const { pool, clock } = await usedPool(t, 2);
  const held = await hold(pool, 2);
  const next = enqueue(pool, 2);
  clock.tick(LIMITS.growMs - 1);
  await held.finish();
  await until(() => next.gate.arrived() === 2);
  assert.equal(pool.started.length, 2);
  await next.finish();
  assert.deepEqual(clock.pending(), [LIMITS.idleMs]);
  assertIdle(pool, 2);
});

test('leases: a request starts threads once no lease has ended for a while', async (t) => {
  const { pool, clock } = await usedPool(t, 3);
  const [one, ...others] = [await hold(pool, 1), await hold(pool, 1), await hold(pool, 1)];
  const next = enqueue(pool, 3);
  clock.tick(LIMITS.growMs - 1);
  await one.finish();
  // The wait begins again.
  clock.tick(LIMITS.growMs - 1);
  assert.equal(pool.counts().alive, 3);
  clock.tick(1);
  await until(() => next.gate.arrived() === 3);
  assert.equal(pool.started.length, 5);
  await Promise.all([next, ...others].map((each) => each.finish()));
  assertIdle(pool, 5);
});

test('leases: an idle thread that is killed serves nobody and is replaced', async (t) => {
  const { pool } = await usedPool(t, 2);
  const [killed = assert.fail()] = pool.started;
  const { threadId } = killed;
  await killed.terminate();
  await until(() => pool.counts().alive === 1);
  assertIdle(pool, 1);
  const answers = await identities(pool, 2);
  assert.ok(!idsOf(answers).includes(threadId));
  assert.equal(pool.started.length, 3);
});

test('leases: all idle threads end after a time without a lease', async (t) => {
  const { pool, clock } = await usedPool(t, 3);
  clock.tick(LIMITS.idleMs - 1);
  await assertServes(pool, 1);
  clock.tick(LIMITS.idleMs - 1);
  assertIdle(pool, 3);
  clock.tick(1);
  assert.equal(pool.counts().idle, 0);
  await until(() => pool.living.size === 0);
  assert.deepEqual(clock.pending(), []);
  await assertServes(pool, 2);
  assert.equal(pool.started.length, 5);
});
