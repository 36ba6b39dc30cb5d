// How requests and the pool end early: in each state a request is aborted, and the pool closed.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { until } from '../support/until.ts';
import { type Clock, stopTime } from './clock.ts';
import { createGate } from './pool-tasks.ts';
import {
  assertUnavailable,
  enqueue,
  hold,
  identities,
  startPool,
  type WatchedPool,
} from './watched-pool.ts';

const GONE = new Error('the client has gone');
const LIMITS = { maxThreads: 2, growMs: 50 };

/** A state of a request, beside another request, whose thread works. */
interface State {
  readonly name: string;
  /** How many threads are idle after it was aborted. */
  readonly idle: 0 | 1;
  /** Makes a request and brings it into the state. */
  readonly arrange: (
    pool: WatchedPool,
    signal: AbortSignal,
    clock: Clock,
  ) => Promise<{ readonly answer: Promise<unknown> }>;
}

const STATES: readonly State[] = [
  {
    name: 'its threads start',
    idle: 1,
    async arrange(pool, signal, clock) {
      const request = enqueue(pool, 1, signal);
      clock.tick(LIMITS.growMs);
      return request;
    },
  },
  {
    name: 'it waits for threads',
    idle: 0,
    arrange: async (pool, signal) => enqueue(pool, LIMITS.maxThreads, signal),
  },
  {
    name: 'it is at work',
    idle: 0,
    async arrange(pool, signal, clock) {
      const request = enqueue(pool, 1, signal);
      clock.tick(LIMITS.growMs);
      await until(() => request.gate.arrived() === 1);
      return request;
    },
  },
  {
    name: 'it runs for ever',
    idle: 0,
    async arrange(pool, signal, clock) {
      const input = { deed: 'run for ever', mates: 0, cells: createGate().cells };
      const answer = pool.run('fail', [input], signal);
      answer.catch(() => undefined);
      clock.tick(LIMITS.growMs);
      await until(() => pool.counts().alive === 2 && pool.counts().waiting === 0);
      return { answer };
    },
  },
];

async function assertAborted(answer: Promise<unknown>, signal: AbortSignal) {
  await assert.rejects(answer, (error) => error === GONE);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
}

async function arrange(t: TestContext, state: State) {
  const clock = stopTime(t);
  const pool = startPool(t, LIMITS);
  const other = await hold(pool, 1);
  const controller = new AbortController();
  const request = await state.arrange(pool, controller.signal, clock);
  return { clock, pool, other, controller, request };
}

for (const state of STATES) {
  test(`threads: a request is aborted while ${state.name}`, async (t) => {
    const { clock, pool, other, controller, request } = await arrange(t, state);
    controller.abort(GONE);
    await assertAborted(request.answer, controller.signal);
    clock.tick(POOL_LIMITS.abandonedMs);
    // Only a thread whose job does not end does.
    const left = { alive: 1 + state.idle, idle: state.idle, waiting: 0 };
    await until(() => isDeepStrictEqual(pool.counts(), left));
    clock.tick(LIMITS.growMs);
    // Those of the other request, and nothing of this one.
    assert.deepEqual(clock.pending(), [POOL_LIMITS.jobMs, POOL_LIMITS.idleMs]);
    assert.equal((await other.finish()).length, 1);
  });

  test(`threads: closes after a request was aborted while ${state.name}`, async (t) => {
    const { clock, pool, other, controller, request } = await arrange(t, state);
    controller.abort(GONE);
    const closed = assertCloses(pool, clock);
    await assertAborted(request.answer, controller.signal);
    await assert.rejects(other.answer, /ended before its job did/);
    await closed;
  });
}

test('threads: one whose client has gone finishes its job, and serves the next', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t, LIMITS);
  const controller = new AbortController();
  const gone = await hold(pool, 2, controller.signal);
  controller.abort(GONE);
  await assertAborted(gone.answer, controller.signal);
  const next = identities(pool, 2);
  gone.gate.open();
  assert.equal((await next).length, 2);
  clock.tick(POOL_LIMITS.abandonedMs);
  assert.deepEqual([pool.started.length, pool.counts().alive], [2, 2]);
});

/** Asserts that closing, even twice, ends every thread and leaves no timer. */
async function assertCloses(pool: WatchedPool, clock: Clock): Promise<void> {
  await Promise.all([pool.close(), pool.close()]);
  assert.deepEqual([pool.counts(), pool.living.size], [{ alive: 0, idle: 0, waiting: 0 }, 0]);
  const started = pool.started.length;
  const late = identities(pool, 1);
  clock.tick(POOL_LIMITS.queueMs);
  assert.deepEqual(clock.pending(), []);
  await assertUnavailable(late, /No threads became free in time/);
  assert.equal(pool.started.length, started);
}

test('threads: closes before the first use', async (t) => {
  const clock = stopTime(t);
  await assertCloses(startPool(t), clock);
});

test('threads: a request that was aborted before starts nothing', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t);
  const signal = AbortSignal.abort(GONE);
  await assertAborted(identities(pool, 2, signal), signal);
  assert.deepEqual(clock.pending(), []);
  clock.tick(1_000);
  await nextTurn();
  assert.equal(pool.started.length, 0);
});
