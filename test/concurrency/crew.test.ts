// Crews at work: the order of results, fresh threads for each request, the bounds, and the queue of requests.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { CANNOT_LOOK, threadsOf } from '../support/threads.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import type { Identity } from './crew-tasks.ts';
import { assertServes, assertUnavailable, enqueue, hold, identities, startCrews } from './crews.ts';

test('crew: results come in thread order, although the last is first', async (t) => {
  const turn = sharedCells(1, { 0: 1 });
  const answers = (await startCrews(t).withCrew(2, 'reverse', () => turn)) as readonly Identity[];
  assert.deepEqual(
    answers.map(({ index }) => index),
    [0, 1],
  );
});

test('crew: each request gets fresh, rehearsed threads', async (t) => {
  const crews = startCrews(t, { standbys: 1, refillMs: 1 });
  const all: Identity[] = [];
  for (const size of [1, 2, 1]) all.push(...(await identities(crews, size)));
  assert.equal(new Set(all.map(({ threadId }) => threadId)).size, all.length);
  for (const { served, rehearsed } of all) assert.ok(served === 1 && rehearsed > 1);
});

test('crew: all threads of several crews work at once', async (t) => {
  const crews = startCrews(t);
  const one = await hold(crews, 1);
  const other = await hold(crews, 2);
  assert.deepEqual(crews.threads(), { alive: 3, parked: 0, waiting: 0 });
  assert.equal((await other.finish()).length, 2);
  assert.equal((await one.finish()).length, 1);
  await until(() => crews.threads().alive === 0);
});

test('crew: no more threads start at once than the limit', async (t) => {
  const crews = startCrews(t, { starting: 2 });
  const held = enqueue(crews, 3);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 0, waiting: 1 });
  await until(() => {
    const { alive, parked } = crews.threads();
    // No thread works before the last one is parked.
    if (crews.started.length < 3) assert.ok(alive - parked <= 2);
    return held.gate.arrived() === 3;
  });
  assert.equal((await held.finish()).length, 3);
});

test('crew: requests are served in order', async (t) => {
  const crews = startCrews(t, { maxThreads: 1 });
  const order: number[] = [];
  await Promise.all([0, 1, 2].map((request) => identities(crews, 1).then(() => order.push(request))));
  assert.deepEqual(order, [0, 1, 2]);
});

describe('crew: a large request waits for both threads', () => {
  /** One of two threads works, the other is parked; a large request waits for both, and two small ones behind it. */
  async function arrange(t: TestContext) {
    const clock = stopTime(t);
    const crews = startCrews(t, { maxThreads: 2 });
    const one = await hold(crews, 1);
    const working = await hold(crews, 1);
    const controller = new AbortController();
    const large = enqueue(crews, 2, controller.signal);
    clock.tick(1_000);
    const small = enqueue(crews, 1);
    const last = enqueue(crews, 1);
    await one.finish();
    await until(() => crews.threads().parked === 1);
    const arrived = () => [large, small, last].map(({ gate }) => gate.arrived());
    assert.deepEqual(arrived(), [0, 0, 0]);
    return { clock, crews, working, controller, large, small, last, arrived };
  }

  test('crew: small requests do not overtake it', async (t) => {
    const { crews, working, large, small, last, arrived } = await arrange(t);
    await working.finish();
    await until(() => large.gate.arrived() === 2);
    assert.deepEqual(arrived(), [2, 0, 0]);
    await large.finish();
    await until(() => small.gate.arrived() + last.gate.arrived() === 2);
    await Promise.all([small.finish(), last.finish()]);
    assert.equal(crews.most(), 2);
  });

  test('crew: after its abort a small request gets the parked thread', async (t) => {
    const { controller, large, small, crews, arrived } = await arrange(t);
    controller.abort(new Error('gone'));
    await assert.rejects(large.answer, /gone/);
    assert.equal(crews.threads().parked, 0);
    await until(() => small.gate.arrived() === 1);
    assert.deepEqual([arrived(), crews.started.length], [[0, 1, 0], 3]);
  });

  test('crew: after its time-out a small request gets the thread', async (t) => {
    const { clock, crews, large, small } = await arrange(t);
    clock.tick(crews.limits.queueMs - 1_000);
    await assertUnavailable(large.answer, /no threads in time/);
    assert.equal(crews.threads().parked, 0);
    await until(() => small.gate.arrived() === 1);
    await small.finish();
  });

  test('crew: after a close nobody gets the parked thread', async (t) => {
    const { crews, large, small, last } = await arrange(t);
    const closed = crews.close();
    for (const { answer } of [large, small, last]) await assertUnavailable(answer, /shutting down/);
    await closed;
    assert.equal(crews.started.length, 3);
  });
});

test('crew: a burst never exceeds the bound of threads', async (t) => {
  const crews = startCrews(t, { maxThreads: 2, standbys: 1, starting: 4, refillMs: 1 });
  const base = CANNOT_LOOK ? 0 : threadsOf(process.pid);
  let answered = false;
  const all = Promise.all([1, 2, 1, 2].map((size) => assertServes(crews, size))).finally(() => {
    answered = true;
  });
  await until(() => {
    assert.ok(crews.threads().alive <= 2);
    return answered;
  });
  await all;
  assert.equal(crews.most(), 2);
  await until(() => crews.threads().parked === 1 && crews.threads().alive === 1);
  // The system takes a moment longer to forget a thread that has ended.
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base + 1);
});

test('crew: a full queue refuses, until there is room again', async (t) => {
  const crews = startCrews(t, { maxThreads: 1, queue: 2 });
  const held = await hold(crews, 1);
  const controller = new AbortController();
  const waiting = enqueue(crews, 1);
  enqueue(crews, 1, controller.signal);
  await assertUnavailable(identities(crews, 1), /too many/i);
  controller.abort();
  const later = enqueue(crews, 1);
  await assertUnavailable(identities(crews, 1), /too many/i);
  for (const each of [held, waiting, later]) await each.finish();
});

test('crew: a request that waits too long is refused', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { maxThreads: 1, queueMs: 500, jobMs: 2_000 });
  const held = await hold(crews, 1);
  let refused = false;
  const waiting = enqueue(crews, 1).answer.finally(() => {
    refused = true;
  });
  clock.tick(499);
  await until(() => crews.threads().alive === 1);
  assert.equal(refused, false);
  clock.tick(1);
  await assertUnavailable(waiting, /no threads in time/);
  await held.finish();
  await assertServes(crews);
});
