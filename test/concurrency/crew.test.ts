// Who gets which threads: order of results, fresh threads for every request, first come first served, and who is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { CANNOT_LOOK, threadsOf } from '../support/threads.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import type { Identity } from './crew-tasks.ts';
import { ask, assertServes, assertUnavailable, hold, identities, startSupply, withoutCoverage } from './supply.ts';

test('each thread is given its own input', async (t) => {
  const crews = startSupply(t);
  const answers = (await crews.withCrew(4, 'identify', (index) => ({ square: index ** 2 }))) as readonly Identity[];
  assert.deepEqual(
    answers.map(({ index, input }) => [index, input]),
    [0, 1, 4, 9].map((square, index) => [index, { square }]),
  );
});

test('results come in the order of the threads, although the last one is done first', async (t) => {
  const crews = startSupply(t);
  const turn = sharedCells(1, { 0: 3 });
  const answers = (await crews.withCrew(4, 'reverse', () => turn)) as readonly Identity[];
  assert.deepEqual(
    answers.map(({ index }) => index),
    [0, 1, 2, 3],
  );
});

test('no thread serves two requests, and none sees what another has left in a module', async (t) => {
  const crews = startSupply(t, { standbys: 3, refillMs: 1 });
  const all: Identity[] = [];
  for (let request = 0; request < 8; request += 1) all.push(...(await identities(crews, 1 + (request % 3))));
  assert.equal(new Set(all.map(({ threadId }) => threadId)).size, all.length);
  for (const { served } of all) assert.equal(served, 1);
});

test('a thread has rehearsed before its only job', async (t) => {
  for (const { rehearsed, served } of await identities(startSupply(t), 2)) {
    assert.ok(rehearsed > 1);
    assert.equal(served, 1);
  }
});

test('all threads of a crew are at work at one time, and so are several crews', async (t) => {
  const crews = startSupply(t);
  const one = await hold(crews, 3);
  const other = await hold(crews, 4);
  assert.deepEqual(crews.threads(), { alive: 7, parked: 0, waiting: 0 });
  assert.equal((await other.finish()).length, 4);
  assert.equal((await one.finish()).length, 3);
  await until(() => crews.threads().alive === 0);
});

test('no more threads start at one time than the limit says', async (t) => {
  const crews = startSupply(t, { starting: 2 });
  const held = ask(crews, 6);
  assert.deepEqual(crews.threads(), { alive: 2, parked: 0, waiting: 1 });
  await until(() => {
    const { alive, parked } = crews.threads();
    // Nobody works before the last one is parked.
    if (crews.started.length < 6) assert.ok(alive - parked <= 2);
    return held.gate.arrived() === 6;
  });
  assert.equal((await held.finish()).length, 6);
});

test('who asks first is served first', async (t) => {
  const crews = startSupply(t, { maxThreads: 1 });
  const order: number[] = [];
  await Promise.all([0, 1, 2, 3, 4].map((request) => identities(crews, 1).then(() => order.push(request))));
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
});

/** One of two threads works, the other is parked; a large request waits for both, and two small ones behind it. */
async function largeBeforeSmall(t: Parameters<typeof startSupply>[0], waited = () => {}) {
  const crews = startSupply(t, { maxThreads: 2 });
  const one = await hold(crews, 1);
  const other = await hold(crews, 1);
  const controller = new AbortController();
  const large = ask(crews, 2, controller.signal);
  waited();
  const small = ask(crews, 1);
  const last = ask(crews, 1);
  await one.finish();
  await until(() => crews.threads().parked === 1);
  assert.deepEqual(
    [large, small, last].map(({ gate }) => gate.arrived()),
    [0, 0, 0],
  );
  return { crews, other, controller, large, small, last };
}

test('small requests wait behind a large one, although there is a thread for one of them', async (t) => {
  const { crews, other, large, small, last } = await largeBeforeSmall(t);
  await other.finish();
  await until(() => large.gate.arrived() === 2);
  assert.deepEqual(
    [small, last].map(({ gate }) => gate.arrived()),
    [0, 0],
  );
  await large.finish();
  await until(() => small.gate.arrived() + last.gate.arrived() === 2);
  await Promise.all([small.finish(), last.finish()]);
  assert.equal(crews.most(), 2);
});

test('when the large one is aborted, a small one behind it has the parked thread at once', async (t) => {
  const { controller, large, small, last, crews } = await largeBeforeSmall(t);
  const started = crews.started.length;
  controller.abort(new Error('gone'));
  await assert.rejects(large.answer, /gone/);
  assert.equal(crews.threads().parked, 0);
  await until(() => small.gate.arrived() === 1);
  assert.deepEqual([last.gate.arrived(), crews.started.length], [0, started]);
  await small.finish();
  await last.finish();
});

test('when the large one has waited too long, a small one behind it has the parked thread at once', async (t) => {
  const clock = stopTime(t);
  const { crews, large, small, last } = await largeBeforeSmall(t, () => clock.tick(1_000));
  clock.tick(crews.limits.queueMs - 1_000);
  await assertUnavailable(large.answer, /no threads in time/);
  assert.equal(crews.threads().parked, 0);
  await until(() => small.gate.arrived() === 1);
  await small.finish();
  await last.finish();
});

test('when the supply is closed, nobody behind the large one is given the parked thread', async (t) => {
  const { crews, large, small, last } = await largeBeforeSmall(t);
  const closed = crews.close();
  for (const { answer } of [large, small, last]) await assertUnavailable(answer, /shutting down/);
  await closed;
  assert.equal(crews.started.length, 3);
});

test('a burst of requests of all sizes is answered with never more threads than may be', async (t) => {
  withoutCoverage(t);
  const crews = startSupply(t, { maxThreads: 5, standbys: 3, starting: 4, refillMs: 1 });
  const base = CANNOT_LOOK ? 0 : threadsOf(process.pid);
  const sizes = Array.from({ length: 12 }, (_, request) => 1 + ((request * 7) % 5));
  let answered = false;
  const all = Promise.all(sizes.map((size) => assertServes(crews, size))).finally(() => {
    answered = true;
  });
  await until(() => {
    assert.ok(crews.threads().alive <= 5);
    return answered;
  });
  await all;
  assert.equal(crews.most(), 5);
  await until(() => crews.threads().parked === 3 && crews.threads().alive === 3);
  // The system takes a moment longer to forget a thread that has ended.
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base + 3);
});

test('a full queue refuses what comes on top, and takes more when there is room again', async (t) => {
  const crews = startSupply(t, { maxThreads: 1, queue: 2 });
  const held = await hold(crews, 1);
  const controller = new AbortController();
  const waiting = [ask(crews, 1), ask(crews, 1, controller.signal)];
  await assertUnavailable(identities(crews, 1), /too many/i);
  controller.abort();
  const later = ask(crews, 1);
  await assertUnavailable(identities(crews, 1), /too many/i);
  for (const each of [held, waiting[0] ?? assert.fail(), later]) await each.finish();
});

test('who has waited too long is refused, and not a millisecond before', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { maxThreads: 1, queueMs: 500, jobMs: 2_000 });
  const held = await hold(crews, 1);
  let refused = false;
  const waiting = ask(crews, 1).answer.finally(() => {
    refused = true;
  });
  clock.tick(499);
  await until(() => crews.threads().alive === 1);
  assert.equal(refused, false);
  clock.tick(1);
  await assertUnavailable(waiting, /no threads in time/);
  await held.finish();
  await assertServes(crews, 1);
});
