// The thread pool at work: the order of results, the bounds, and the queue of requests.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import type { Identity } from './pool-tasks.ts';
import { assertUnavailable, enqueue, hold, startPool } from './watched-pool.ts';

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

  test('threads: after a close nobody gets the idle thread', async (t) => {
    const { clock, pool, large, small, last } = await arrange(t);
    const closed = pool.close();
    for (const { answer } of [large, small, last]) await assertUnavailable(answer, /shutting down/);
    await closed;
    assert.deepEqual([pool.started.length, clock.pending()], [2, []]);
  });
});
