// How requests and supplies end before their time: a client that hangs up at any moment, a supply that is closed in any
// state, and threads that are killed at random.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { CANNOT_LOOK, threadsOf } from '../support/threads.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import { createGate, type Identity } from './crew-tasks.ts';
import {
  ask,
  assertServes,
  assertUnavailable,
  hold,
  identities,
  openHandles,
  type Supply,
  startSupply,
  withoutCoverage,
} from './supply.ts';

const GONE = new Error('the client has gone');

/** A signal, and how many listen to it. */
function abortable() {
  const controller = new AbortController();
  const { signal } = controller;
  return { signal, abort: () => controller.abort(GONE), listeners: () => getEventListeners(signal, 'abort').length };
}

async function assertGone(answer: Promise<unknown>): Promise<void> {
  await assert.rejects(answer, (error) => error === GONE);
}

test('a request that is aborted before it is made starts nothing', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { standbys: 3 });
  const { signal, abort, listeners } = abortable();
  abort();
  await assertGone(identities(crews, 2, signal));
  assert.deepEqual([listeners(), clock.pending()], [0, []]);
  clock.tick(1_000);
  await nextTurn();
  assert.equal(crews.started.length, 0);
});

test('a request that is aborted while it waits has no crew any more', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { maxThreads: 2 });
  const held = await hold(crews, 2);
  const before = clock.pending();
  const { signal, abort, listeners } = abortable();
  const waiting = ask(crews, 1, signal);
  assert.equal(listeners(), 1);
  abort();
  await assertGone(waiting.answer);
  assert.deepEqual([listeners(), clock.pending()], [0, before]);
  await held.finish();
  await until(() => crews.threads().alive === 0);
  assert.deepEqual([waiting.gate.arrived(), crews.started.length], [0, 2]);
});

test('a request that is aborted between getting its crew and calling it calls nobody', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { standbys: 1, refillMs: 20 });
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  clock.tick(20);
  await until(() => crews.threads().parked === 1);
  const { signal, abort, listeners } = abortable();
  let inputs = 0;
  const answer = crews.withCrew(1, 'identify', () => ++inputs, signal);
  assert.equal(crews.threads().parked, 0);
  abort();
  await assertGone(answer);
  assert.deepEqual([inputs, listeners()], [0, 0]);
  await until(() => crews.threads().alive === 0);
});

test('a request that is aborted while it is worked on loses its crew, and no other does', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t);
  const other = await hold(crews, 2);
  const before = clock.pending();
  const { signal, abort, listeners } = abortable();
  const { answer } = await hold(crews, 3, signal);
  assert.equal(listeners(), 1);
  abort();
  await assertGone(answer);
  assert.deepEqual([listeners(), clock.pending()], [0, before]);
  await until(() => crews.living.size === 2);
  assert.equal((await other.finish()).length, 2);
  await assertServes(crews, 3);
});

test('a request that is aborted after its answer is not touched', async (t) => {
  const crews = startSupply(t);
  const { signal, abort, listeners } = abortable();
  const answers = await identities(crews, 2, signal);
  assert.deepEqual([answers.length, listeners()], [2, 0]);
  abort();
  await until(() => crews.threads().alive === 0);
  await assertServes(crews);
});

/** Asserts that closing ends every thread and leaves no timer; it may be done twice. */
async function assertCloses(crews: Supply, pending: () => number[]): Promise<void> {
  await Promise.all([crews.close(), crews.close()]);
  assert.deepEqual([crews.threads(), crews.living.size], [{ alive: 0, parked: 0, waiting: 0 }, 0]);
  const started = crews.started.length;
  await assertUnavailable(identities(crews, 1), /shutting down/);
  await nextTurn();
  assert.deepEqual([crews.started.length, pending()], [started, []]);
}

test('a supply that is shut down lets crews finish, and nobody else in', async (t) => {
  const { pending } = stopTime(t);
  const crews = startSupply(t, { maxThreads: 6, standbys: 2, refillMs: 20 });
  const working = await hold(crews, 3);
  const { signal, listeners } = abortable();
  const waiting = [ask(crews, 4, signal), ask(crews, 1, signal)];
  crews.shutDown();
  for (const { answer } of waiting) await assertUnavailable(answer, /shutting down/);
  await assertUnavailable(identities(crews, 1), /shutting down/);
  assert.equal(listeners(), 0);
  // Those that were starting for the others end as soon as they have started.
  await until(() => crews.living.size === 3);
  assert.equal((await working.finish()).length, 3);
  await until(() => crews.threads().alive === 0);
  assert.deepEqual(pending(), []);
});

test('a supply that was never used can be closed', async (t) => {
  const { pending } = stopTime(t);
  await assertCloses(startSupply(t), pending);
});

test('a supply can be closed while threads are starting, and sends away who waits for them', async (t) => {
  const { pending } = stopTime(t);
  const crews = startSupply(t, { standbys: 3, starting: 4 });
  const { signal, listeners } = abortable();
  const waiting = [ask(crews, 3, signal), ask(crews, 1)];
  assert.deepEqual(crews.threads(), { alive: 4, parked: 0, waiting: 2 });
  const closed = assertCloses(crews, pending);
  for (const { answer } of waiting) await assertUnavailable(answer, /shutting down/);
  assert.equal(listeners(), 0);
  await closed;
});

test('a supply can be closed while threads are parked', async (t) => {
  const { pending, tick } = stopTime(t);
  const crews = startSupply(t, { standbys: 2, refillMs: 20 });
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  tick(20);
  await until(() => crews.threads().parked === 1);
  // The second one is due.
  assert.ok(pending().includes(20));
  await assertCloses(crews, pending);
});

test('a supply can be closed while threads work, hang and are waited for', async (t) => {
  const { pending } = stopTime(t);
  const crews = startSupply(t, { maxThreads: 4 });
  const { cells, arrived } = createGate();
  const { signal, listeners } = abortable();
  const hanging = crews.withCrew(2, 'fail', () => ({ deed: 'run for ever', culprit: 0, mates: 1, cells }), signal);
  const outcomes = Promise.allSettled([hanging]);
  await until(() => arrived() === 1);
  const working = await hold(crews, 2, signal);
  const waiting = ask(crews, 3, signal);
  const closed = assertCloses(crews, pending);
  await assertUnavailable(waiting.answer, /shutting down/);
  await assert.rejects(working.answer, /ended before its job did/);
  assert.equal((await outcomes)[0].status, 'rejected');
  assert.equal(listeners(), 0);
  await closed;
});

test('a supply can be closed right after it has given away a thread', async (t) => {
  const { pending, tick } = stopTime(t);
  const crews = startSupply(t, { standbys: 1, refillMs: 20 });
  await assertServes(crews, 1);
  tick(20);
  await until(() => crews.threads().parked === 1);
  const { answer } = ask(crews, 1);
  const closed = assertCloses(crews, pending);
  await assert.rejects(answer, /ended before its job did/);
  await closed;
});

/** Numbers from 0 to 1 that look random and are the same each time. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const KILLS = 200;
const CLIENTS = 6;
const STANDBYS = 3;
const THREADS_MOST = 10;

/** Kills threads at random, whatever they are doing, while clients ask; returns how many requests were right and wrong. */
async function killAtRandom(crews: Supply, random: () => number) {
  const killed = new Set<Worker>();
  const count = { right: 0, failed: 0 };

  async function request(): Promise<void> {
    const size = 1 + Math.floor(random() * 2);
    const turn = new Int32Array(new SharedArrayBuffer(4)).fill(size - 1);
    try {
      const answers = (await crews.withCrew(size, 'reverse', () => turn)) as readonly Identity[];
      assert.deepEqual(
        answers.map(({ index, served }) => [index, served]),
        Array.from({ length: size }, (_, index) => [index, 1]),
      );
      count.right += 1;
    } catch (error) {
      assert.match(String(error), /ended before its job did/);
      count.failed += 1;
    }
  }

  async function kill(): Promise<void> {
    const left = [...crews.living].filter((worker) => !killed.has(worker));
    const victim = left[Math.floor(random() * left.length)];
    for (let turns = Math.floor(random() * 20); turns > 0; turns -= 1) await nextTurn();
    if (!victim || !crews.living.has(victim)) return;
    killed.add(victim);
    victim.terminate();
  }

  const clients = Array.from({ length: CLIENTS }, async () => {
    while (killed.size < KILLS) await Promise.all([request(), random() < 0.8 && kill()]);
  });
  await Promise.all(clients);
  return count;
}

test('200 threads that are killed at random cost no more than their requests', async (t) => {
  withoutCoverage(t);
  const warm = startSupply(t);
  await assertServes(warm);
  await warm.close();
  const base = CANNOT_LOOK ? 0 : threadsOf(process.pid);
  const handles = openHandles();
  const crews = startSupply(t, { standbys: STANDBYS, maxThreads: THREADS_MOST, refillMs: 1 });
  const { right, failed } = await killAtRandom(crews, createRandom(31));
  t.diagnostic(`${right} requests were right, ${failed} failed, ${crews.started.length} threads were started`);
  assert.ok(right > 0 && failed > 0);
  assert.ok(crews.most() <= THREADS_MOST);
  await assertServes(crews, 3);
  await until(() => crews.threads().alive === STANDBYS && crews.threads().parked === STANDBYS);
  // The system takes a moment longer to forget a thread that has ended.
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base + STANDBYS);
  await crews.close();
  assert.deepEqual([crews.threads(), crews.living.size], [{ alive: 0, parked: 0, waiting: 0 }, 0]);
  await until(() => openHandles() === handles);
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base);
});
