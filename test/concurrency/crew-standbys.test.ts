// Threads ahead of need: when standbys are started, who gets them, and when they go. Time is moved by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Clock, stopTime } from './clock.ts';
import { ask, assertServes, hold, identities, type Supply, startSupply } from './supply.ts';

const LIMITS = { standbys: 3, refillMs: 20, idleMs: 1_000 };

/** Lets standbys be started until all are parked. */
async function refill({ threads, limits }: Supply, { tick }: Clock): Promise<void> {
  for (let parked = threads().parked; parked < limits.standbys; parked += 1) {
    tick(limits.refillMs);
    await until(() => threads().parked === parked + 1);
  }
}

/** A supply that has been used and has all its standbys. */
async function withStandbys(t: Parameters<typeof stopTime>[0]): Promise<{ crews: Supply; clock: Clock }> {
  const clock = stopTime(t);
  const crews = startSupply(t, LIMITS);
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
  return { crews, clock };
}

test('there is no thread and no timer before the first use', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, LIMITS);
  assert.deepEqual(clock.pending(), []);
  clock.tick(10_000);
  await nextTurn();
  assert.deepEqual([crews.threads(), crews.started.length], [{ alive: 0, parked: 0, waiting: 0 }, 0]);
});

test('standbys are started one by one after the first use, and no more than there may be', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, LIMITS);
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  for (const parked of [1, 2, 3]) {
    clock.tick(LIMITS.refillMs - 1);
    await nextTurn();
    assert.equal(crews.started.length, parked);
    clock.tick(1);
    // The next one is not even thought of before this one is parked.
    clock.tick(LIMITS.refillMs * 5);
    await until(() => crews.threads().parked === parked);
    assert.equal(crews.started.length, 1 + parked);
  }
  assert.deepEqual(clock.pending(), [LIMITS.idleMs]);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([crews.threads(), crews.started.length], [{ alive: 3, parked: 3, waiting: 0 }, 4]);
});

test('no standby is started while the event loop is busy', async (t) => {
  const clock = stopTime(t);
  let utilization = 0.9;
  t.mock.method(performance, 'eventLoopUtilization', () => ({ idle: 0, active: 0, utilization }));
  const crews = startSupply(t, { ...LIMITS, refillUtilization: 0.5 });
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  clock.tick(LIMITS.refillMs * 10);
  await nextTurn();
  assert.equal(crews.started.length, 1);
  utilization = 0.1;
  await refill(crews, clock);
});

test('no standby is started while somebody waits for threads', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { ...LIMITS, maxThreads: 3, starting: 1 });
  const held = await hold(crews, 1);
  const large = ask(crews, 3);
  await until(() => crews.threads().parked === 2);
  clock.tick(LIMITS.refillMs * 5);
  await until(() => crews.threads().alive === 3);
  assert.equal(crews.started.length, 3);
  await held.finish();
  await until(() => large.gate.arrived() === 3);
  await large.finish();
});

test('the next request has the standbys, and they are replaced', async (t) => {
  const { crews, clock } = await withStandbys(t);
  const ids = crews.started.slice(-3).map(({ threadId }) => threadId);
  const held = ask(crews, 2);
  assert.deepEqual(crews.threads(), { alive: 3, parked: 1, waiting: 0 });
  const answers = await held.finish();
  for (const { threadId } of answers) assert.ok(ids.includes(threadId));
  assert.equal(crews.started.length, 4);
  await until(() => crews.threads().alive === 1);
  await refill(crews, clock);
  assert.equal(crews.started.length, 6);
});

test('a request for more than there are has the standbys and the rest started', async (t) => {
  const { crews } = await withStandbys(t);
  await assertServes(crews, 5);
  assert.equal(crews.started.length, 4 + 2);
});

test('a standby that is killed is given to nobody, and is replaced', async (t) => {
  const { crews, clock } = await withStandbys(t);
  const [, killed] = crews.started;
  const { threadId } = killed ?? assert.fail();
  await killed?.terminate();
  await until(() => crews.threads().alive === 2);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 2, waiting: 0 });
  const answers = await identities(crews, 3);
  assert.ok(answers.every((each) => each.threadId !== threadId));
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
});

test('standbys are let go when nobody has asked for a while, and come back with the next request', async (t) => {
  const { crews, clock } = await withStandbys(t);
  clock.tick(LIMITS.idleMs / 2);
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 2);
  await refill(crews, clock);
  // The time counts from the latest request.
  const started = crews.started.length;
  clock.tick(LIMITS.idleMs - LIMITS.refillMs - 1);
  assert.equal(crews.threads().parked, 3);
  clock.tick(1);
  assert.equal(crews.threads().parked, 0);
  await until(() => crews.threads().alive === 0);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.deepEqual([crews.started.length, clock.pending()], [started, []]);
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  await refill(crews, clock);
  clock.tick(LIMITS.idleMs);
  await until(() => crews.threads().alive === 0);
});

test('a standby that is still starting when its time is over goes as soon as it is parked', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, LIMITS);
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  clock.tick(LIMITS.refillMs);
  assert.deepEqual(crews.threads(), { alive: 1, parked: 0, waiting: 0 });
  clock.tick(LIMITS.idleMs);
  await until(() => crews.threads().alive === 0);
  assert.equal(crews.started.length, 2);
});

test('what was started for requests that were aborted goes, but for the standbys', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { ...LIMITS, starting: 6, standbys: 1 });
  const controller = new AbortController();
  const { answer } = ask(crews, 6, controller.signal);
  assert.deepEqual(crews.threads(), { alive: 6, parked: 0, waiting: 1 });
  controller.abort();
  await assert.rejects(answer, { name: 'AbortError' });
  await until(() => crews.threads().alive === 1 && crews.threads().parked === 1);
  clock.tick(LIMITS.refillMs * 5);
  await nextTurn();
  assert.equal(crews.started.length, 6);
});

test('a standby is one of the threads that may be alive', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { ...LIMITS, maxThreads: 2 });
  const one = await hold(crews, 1);
  assert.deepEqual(clock.pending().includes(LIMITS.refillMs), true);
  const other = await hold(crews, 1);
  // A standby was due when there was still room for it.
  clock.tick(LIMITS.refillMs * 5);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 0, waiting: 0 });
  await Promise.all([one.finish(), other.finish()]);
  await until(() => crews.threads().alive === 0);
  clock.tick(LIMITS.refillMs);
  await until(() => crews.threads().parked === 1);
  clock.tick(LIMITS.refillMs);
  await until(() => crews.threads().parked === 2);
  assert.equal(crews.most(), 2);
});
