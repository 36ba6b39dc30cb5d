// Idle threads: when they are started ahead of need, who gets them, and when they end. The test
// moves the clock.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { until } from '../support/until.ts';
import { type Clock, stopTime } from './clock.ts';
import {
  assertServes,
  enqueue,
  hold,
  identities,
  startPool,
  type WatchedPool,
} from './watched-pool.ts';

const LIMITS = { idle: 2, refillMs: 20, idleMs: 1_000 };

/** A pool that has served one request and has no threads. */
async function usedPool(t: TestContext, limits: Parameters<typeof startPool>[1] = LIMITS) {
  const clock = stopTime(t);
  const pool = startPool(t, limits);
  await assertServes(pool);
  await until(() => pool.counts().alive === 0);
  return { pool, clock };
}

/** Lets all idle threads start. */
async function refill(pool: WatchedPool, clock: Clock): Promise<void> {
  for (let { idle } = pool.counts(); idle < POOL_LIMITS.idle; idle += 1) {
    clock.tick(POOL_LIMITS.refillMs);
    await until(() => pool.counts().idle === idle + 1);
  }
}

/** A pool with all its idle threads. */
async function poolWithIdleThreads(t: TestContext, idle = LIMITS.idle) {
  const used = await usedPool(t, { ...LIMITS, idle });
  await refill(used.pool, used.clock);
  return used;
}

test('idle threads: start one by one after the first use', async (t) => {
  const { pool, clock } = await usedPool(t);
  for (const idle of [1, 2]) {
    clock.tick(LIMITS.refillMs - 1);
    await nextTurn();
    assert.equal(pool.started.length, idle);
    clock.tick(1);
    // The next one does not start before this one is idle.
    clock.tick(LIMITS.refillMs * 5);
    await until(() => pool.counts().idle === idle);
    assert.equal(pool.started.length, 1 + idle);
  }
  assert.deepEqual(clock.pending(), [LIMITS.idleMs]);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([pool.counts(), pool.started.length], [{ alive: 2, idle: 2, waiting: 0 }, 3]);
});

test('idle threads: none starts while the event loop is busy', async (t) => {
  let utilization = 0.9;
  t.mock.method(performance, 'eventLoopUtilization', () => ({ idle: 0, active: 0, utilization }));
  const { pool, clock } = await usedPool(t, { ...LIMITS, idle: 1, refillUtilization: 0.5 });
  clock.tick(LIMITS.refillMs * 10);
  await nextTurn();
  assert.equal(pool.started.length, 1);
  utilization = 0.1;
  await refill(pool, clock);
});

test('idle threads: none starts while a request waits', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t, { ...LIMITS, maxThreads: 3, starting: 1 });
  const held = await hold(pool, 1);
  const large = enqueue(pool, 3);
  await until(() => pool.counts().idle === 2);
  clock.tick(LIMITS.refillMs * 5);
  await until(() => pool.counts().alive === 3);
  assert.equal(pool.started.length, 3);
  await held.finish();
  await until(() => large.gate.arrived() === 3);
});

test('idle threads: serve the next request and are replaced', async (t) => {
  const { pool, clock } = await poolWithIdleThreads(t);
  const ids = pool.started.slice(-2).map(({ threadId }) => threadId);
  const held = enqueue(pool, 1);
  assert.deepEqual(pool.counts(), { alive: 2, idle: 1, waiting: 0 });
  const answers = await held.finish();
  for (const { threadId } of answers) assert.ok(ids.includes(threadId));
  assert.equal(pool.started.length, 3);
  await until(() => pool.counts().alive === 1);
  await refill(pool, clock);
  assert.equal(pool.started.length, 4);
  // A larger request takes them too, and only the missing threads are started.
  await assertServes(pool, 3);
  assert.equal(pool.started.length, 5);
});

test('idle threads: a killed one serves nobody and is replaced', async (t) => {
  const { pool, clock } = await poolWithIdleThreads(t);
  const [, killed = assert.fail()] = pool.started;
  const { threadId } = killed;
  await killed.terminate();
  await until(() => pool.counts().alive === 1);
  assert.deepEqual(pool.counts(), { alive: 1, idle: 1, waiting: 0 });
  await refill(pool, clock);
  const answers = await identities(pool, 2);
  assert.ok(answers.every((each) => each.threadId !== threadId));
  assert.equal(pool.started.length, 4);
});

test('idle threads: end after the idle time, return with a request', async (t) => {
  const { pool, clock } = await poolWithIdleThreads(t, 1);
  clock.tick(LIMITS.idleMs / 2);
  await assertServes(pool);
  await until(() => pool.counts().alive === 0);
  await refill(pool, clock);
  // The time counts from the latest request.
  const started = pool.started.length;
  clock.tick(LIMITS.idleMs - LIMITS.refillMs - 1);
  assert.equal(pool.counts().idle, 1);
  clock.tick(1);
  assert.equal(pool.counts().idle, 0);
  await until(() => pool.counts().alive === 0);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([pool.started.length, clock.pending()], [started, []]);
  await assertServes(pool);
  await until(() => pool.counts().alive === 0);
  await refill(pool, clock);
  clock.tick(LIMITS.idleMs);
  await until(() => pool.counts().alive === 0);
});

test('idle threads: one that starts when the idle time ends goes too', async (t) => {
  const { pool, clock } = await usedPool(t);
  clock.tick(LIMITS.refillMs);
  assert.deepEqual(pool.counts(), { alive: 1, idle: 0, waiting: 0 });
  clock.tick(LIMITS.idleMs);
  await until(() => pool.counts().alive === 0);
  assert.equal(pool.started.length, 2);
});

test('idle threads: surplus threads of an aborted request end', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t, { ...LIMITS, starting: 3, idle: 1 });
  const controller = new AbortController();
  const { answer } = enqueue(pool, 3, controller.signal);
  assert.deepEqual(pool.counts(), { alive: 3, idle: 0, waiting: 1 });
  controller.abort();
  await assert.rejects(answer, { name: 'AbortError' });
  await until(() => pool.counts().alive === 1 && pool.counts().idle === 1);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.equal(pool.started.length, 3);
});

test('idle threads: count towards the bound of threads', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t, { ...LIMITS, maxThreads: 2 });
  const one = await hold(pool, 1);
  assert.ok(clock.pending().includes(LIMITS.refillMs));
  const other = await hold(pool, 1);
  // An idle thread was due while there was still room for it.
  clock.tick(LIMITS.refillMs * 5);
  assert.deepEqual(pool.counts(), { alive: 2, idle: 0, waiting: 0 });
  await Promise.all([one.finish(), other.finish()]);
  await until(() => pool.counts().alive === 0);
  await refill(pool, clock);
  assert.equal(pool.most(), 2);
});
