// Standbys: when idle threads are started ahead of need, who gets them, and when they end. The test moves the clock.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Clock, stopTime } from './clock.ts';
import { assertServes, enqueue, hold, identities, startCrews, type WatchedCrews } from './crews.ts';

const LIMITS = { standbys: 2, refillMs: 20, idleMs: 1_000 };

/** Crews that have served one request and have no threads. */
async function usedCrews(t: TestContext, limits: Parameters<typeof startCrews>[1] = LIMITS) {
  const clock = stopTime(t);
  const crews = startCrews(t, limits);
  await assertServes(crews);
  await until(() => crews.threads().alive === 0);
  return { crews, clock };
}

/** Lets all standbys start and park. */
async function refill({ threads, limits }: WatchedCrews, { tick }: Clock): Promise<void> {
  for (let parked = threads().parked; parked < limits.standbys; parked += 1) {
    tick(limits.refillMs);
    await until(() => threads().parked === parked + 1);
  }
}

/** Crews with all their standbys. */
async function crewsWithStandbys(t: TestContext, standbys = LIMITS.standbys) {
  const used = await usedCrews(t, { ...LIMITS, standbys });
  await refill(used.crews, used.clock);
  return used;
}

test('standbys: no thread and no timer before the first use', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, LIMITS);
  assert.deepEqual(clock.pending(), []);
  clock.tick(10_000);
  await nextTurn();
  assert.deepEqual([crews.threads(), crews.started.length], [{ alive: 0, parked: 0, waiting: 0 }, 0]);
});

test('standbys: start one by one after the first use', async (t) => {
  const { crews, clock } = await usedCrews(t);
  for (const parked of [1, 2]) {
    clock.tick(LIMITS.refillMs - 1);
    await nextTurn();
    assert.equal(crews.started.length, parked);
    clock.tick(1);
    // The next one does not start before this one is parked.
    clock.tick(LIMITS.refillMs * 5);
    await until(() => crews.threads().parked === parked);
    assert.equal(crews.started.length, 1 + parked);
  }
  assert.deepEqual(clock.pending(), [LIMITS.idleMs]);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([crews.threads(), crews.started.length], [{ alive: 2, parked: 2, waiting: 0 }, 3]);
});

test('standbys: none starts while the event loop is busy', async (t) => {
  let utilization = 0.9;
  t.mock.method(performance, 'eventLoopUtilization', () => ({ idle: 0, active: 0, utilization }));
  const { crews, clock } = await usedCrews(t, { ...LIMITS, standbys: 1, refillUtilization: 0.5 });
  clock.tick(LIMITS.refillMs * 10);
  await nextTurn();
  assert.equal(crews.started.length, 1);
  utilization = 0.1;
  await refill(crews, clock);
});

test('standbys: none starts while a request waits', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, maxThreads: 3, starting: 1 });
  const held = await hold(crews, 1);
  const large = enqueue(crews, 3);
  await until(() => crews.threads().parked === 2);
  clock.tick(LIMITS.refillMs * 5);
  await until(() => crews.threads().alive === 3);
  assert.equal(crews.started.length, 3);
  await held.finish();
  await until(() => large.gate.arrived() === 3);
});

test('standbys: serve the next request and are replaced', async (t) => {
  const { crews, clock } = await crewsWithStandbys(t);
  const ids = crews.started.slice(-2).map(({ threadId }) => threadId);
  const held = enqueue(crews, 1);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 1, waiting: 0 });
  const answers = await held.finish();
  for (const { threadId } of answers) assert.ok(ids.includes(threadId));
  assert.equal(crews.started.length, 3);
  await until(() => crews.threads().alive === 1);
  await refill(crews, clock);
  assert.equal(crews.started.length, 4);
  // A larger request takes them too, and only the missing threads are started.
  await assertServes(crews, 3);
  assert.equal(crews.started.length, 5);
});

test('standbys: a killed one serves nobody and is replaced', async (t) => {
  const { crews, clock } = await crewsWithStandbys(t);
  const [, killed = assert.fail()] = crews.started;
  const { threadId } = killed;
  await killed.terminate();
  await until(() => crews.threads().alive === 1);
  assert.deepEqual(crews.threads(), { alive: 1, parked: 1, waiting: 0 });
  await refill(crews, clock);
  const answers = await identities(crews, 2);
  assert.ok(answers.every((each) => each.threadId !== threadId));
  assert.equal(crews.started.length, 4);
});

test('standbys: end after the idle time, return with a request', async (t) => {
  const { crews, clock } = await crewsWithStandbys(t, 1);
  clock.tick(LIMITS.idleMs / 2);
  await assertServes(crews);
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
  // The time counts from the latest request.
  const started = crews.started.length;
  clock.tick(LIMITS.idleMs - LIMITS.refillMs - 1);
  assert.equal(crews.threads().parked, 1);
  clock.tick(1);
  assert.equal(crews.threads().parked, 0);
  await until(() => crews.threads().alive === 0);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([crews.started.length, clock.pending()], [started, []]);
  await assertServes(crews);
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
  clock.tick(LIMITS.idleMs);
  await until(() => crews.threads().alive === 0);
});

test('standbys: one that starts when the idle time ends goes too', async (t) => {
  const { crews, clock } = await usedCrews(t);
  clock.tick(LIMITS.refillMs);
  assert.deepEqual(crews.threads(), { alive: 1, parked: 0, waiting: 0 });
  clock.tick(LIMITS.idleMs);
  await until(() => crews.threads().alive === 0);
  assert.equal(crews.started.length, 2);
});

test('standbys: threads of an aborted request beyond them end', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, starting: 3, standbys: 1 });
  const controller = new AbortController();
  const { answer } = enqueue(crews, 3, controller.signal);
  assert.deepEqual(crews.threads(), { alive: 3, parked: 0, waiting: 1 });
  controller.abort();
  await assert.rejects(answer, { name: 'AbortError' });
  await until(() => crews.threads().alive === 1 && crews.threads().parked === 1);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.equal(crews.started.length, 3);
});

test('standbys: count towards the bound of threads', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, maxThreads: 2 });
  const one = await hold(crews, 1);
  assert.ok(clock.pending().includes(LIMITS.refillMs));
  const other = await hold(crews, 1);
  // A standby was due while there was still room for it.
  clock.tick(LIMITS.refillMs * 5);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 0, waiting: 0 });
  await Promise.all([one.finish(), other.finish()]);
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
  assert.equal(crews.most(), 2);
});

test('standbys: given up when one cannot start, until a request', async (t) => {
  const { crews, clock } = await usedCrews(t);
  clock.tick(LIMITS.refillMs);
  await until(() => crews.started.length === 2);
  await crews.started[1]?.terminate();
  await until(() => crews.threads().alive === 0);
  clock.tick(200);
  await nextTurn();
  assert.equal(crews.started.length, 2);
  await assertServes(crews);
  clock.tick(LIMITS.refillMs);
  await until(() => crews.threads().parked === 1);
});
