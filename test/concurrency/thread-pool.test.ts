// The thread pool at work: the order of results, the bounds and the queue of requests, who gets
// idle threads, when more threads start, and when they end. The test moves the clock.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import type { Identity } from './pool-tasks.ts';
import {
  assertServes,
  assertUnavailable,
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

test('threads: results come in thread order, although the last is first', async (t) => {
  const turn = sharedCells(1, { 0: 1 });
  const answers = (await startPool(t).run('reverse', [turn, turn])) as readonly Identity[];
  assert.deepEqual(
    answers.map(({ index }) => index),
    [0, 1],
  );
});

test('threads: no more threads start at once than the limit', async (t) => {
  const pool = startPool(t, { starting: 2 });
  const held = enqueue(pool, 3);
  assert.deepEqual(pool.counts(), { alive: 2, idle: 0, waiting: 1 });
  await until(() => {
    const { alive, idle } = pool.counts();
    // No thread works before the last one is idle.
    if (pool.started.length < 3) assert.ok(alive - idle <= 2);
    return held.gate.arrived() === 3;
  });
  assert.equal((await held.finish()).length, 3);
});

describe('threads: a large request waits for both threads', () => {
  /**
   * One of two threads works, the other is idle; a large request waits for both, and two small ones
   * behind it.
   */
  async function arrange(t: TestContext) {
    const clock = stopTime(t);
    const pool = startPool(t, { maxThreads: 2 });
    const one = await hold(pool, 1);
    const working = await hold(pool, 1);
    const controller = new AbortController();
    const large = enqueue(pool, 2, controller.signal);
    clock.tick(1_000);
    const small = enqueue(pool, 1);
    const last = enqueue(pool, 1);
    await one.finish();
    await until(() => pool.counts().idle === 1);
    const arrived = () => [large, small, last].map(({ gate }) => gate.arrived());
    assert.deepEqual(arrived(), [0, 0, 0]);
    return { clock, pool, working, controller, large, small, last, arrived };
  }

  test('threads: small requests do not overtake it', async (t) => {
    const { pool, working, large, small, last, arrived } = await arrange(t);
    await working.finish();
    await until(() => large.gate.arrived() === 2);
    assert.deepEqual(arrived(), [2, 0, 0]);
    await large.finish();
    await until(() => small.gate.arrived() + last.gate.arrived() === 2);
    await Promise.all([small.finish(), last.finish()]);
    assert.equal(pool.started.length, 2);
  });

  test('threads: if it is aborted, a small request gets the idle thread', async (t) => {
    const { controller, large, small, pool, arrived } = await arrange(t);
    controller.abort(new Error('gone'));
    await assert.rejects(large.answer, /gone/);
    assert.equal(pool.counts().idle, 0);
    await until(() => small.gate.arrived() === 1);
    assert.deepEqual([arrived(), pool.started.length], [[0, 1, 0], 2]);
  });

  test('threads: if it times out, a small request gets the idle thread', async (t) => {
    const { clock, pool, large, small } = await arrange(t);
    clock.tick(POOL_LIMITS.queueMs - 1_000);
    await assertUnavailable(large.answer, /No threads became free in time/);
    assert.equal(pool.counts().idle, 0);
    await until(() => small.gate.arrived() === 1);
    await small.finish();
  });
});

test('threads: clients that may have gone come after all others', async (t) => {
  const pool = startPool(t, { maxThreads: 1 });
  const working = await hold(pool, 1);
  const leaving = new AbortController();
  const order: string[] = [];
  const wait = (name: string, mayBeGone?: AbortSignal) => {
    const request = enqueue(pool, 1, undefined, mayBeGone);
    request.gate.open();
    return request.answer.then(() => order.push(name));
  };
  const all = [
    wait('has closed its sending side', AbortSignal.abort()),
    wait('closes it later', leaving.signal),
    wait('stays', new AbortController().signal),
    wait('stays, too'),
  ];
  leaving.abort();
  assert.equal(pool.counts().waiting, 4);
  await working.finish();
  await Promise.all(all);
  const expected = ['stays', 'stays, too', 'has closed its sending side', 'closes it later'];
  assert.deepEqual(order, expected);
});

test('threads: clients that may have gone take the place of nobody else', async (t) => {
  const pool = startPool(t, { maxThreads: 1, queue: 2 });
  const working = await hold(pool, 1);
  const add = (mayBeGone?: AbortSignal) => enqueue(pool, 1, undefined, mayBeGone);
  const doubtful = [add(AbortSignal.abort()), add(AbortSignal.abort())];
  const full = /Too many demonstrations wait for threads/;
  await assertUnavailable(add(AbortSignal.abort()).answer, full);
  const others = [add(), add()];
  await assertUnavailable(add().answer, full);
  assert.equal(pool.counts().waiting, 4);
  for (const request of [working, ...others, ...doubtful]) await request.finish();
});

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
  clock.tick(LIMITS.growMs);
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

test('leases: threads that were leased when the others ended end later', async (t) => {
  const { pool, clock } = await usedPool(t, 2);
  const held = await hold(pool, 1);
  clock.tick(LIMITS.idleMs);
  await until(() => pool.living.size === 1);
  await held.finish();
  assertIdle(pool, 1);
  clock.tick(LIMITS.idleMs);
  await until(() => pool.living.size === 0);
});
