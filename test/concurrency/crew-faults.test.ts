// A failure in a thread, or before its call, costs its own request only: no other crew, no thread, no timer, no listener.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import { createGate, type Deed } from './crew-tasks.ts';
import { assertServes, assertUnavailable, enqueue, hold, startCrews, type WatchedCrews } from './crews.ts';

const NO_THREADS = { alive: 0, parked: 0, waiting: 0 };

/** Requests a crew of two whose second thread fails while the first waits for ever. */
function requestFailure(crews: WatchedCrews, deed: Deed) {
  const { cells, arrived } = createGate();
  const answer = crews.withCrew(2, 'fail', () => ({ deed, culprit: 1, mates: 1, cells }));
  return { answer, arrived };
}

async function assertFails(answer: Promise<unknown>, message: RegExp, label: string): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof Error, label);
    assert.match(error.message, message, label);
    return true;
  });
}

const FAULTS: readonly [Deed, RegExp][] = [
  ['throw', /^thrown by a thread$/],
  ['throw a text', /^a thread threw 'a text'$/],
  ['throw a function', /^a thread threw .*Function/],
  ['exit', /ended before its job did/],
  // A DOMException loses its text on the way in Node 20, and the rest of itself in Node 22.
  ['return a function', /could not be cloned|^a thread threw|^$/],
  ['return what nobody can read', /call stack/],
];

test('crew: a thread that fails ends its own crew only', async (t) => {
  const crews = startCrews(t);
  const other = await hold(crews, 1);
  for (const [deed, message] of FAULTS) {
    await assertFails(requestFailure(crews, deed).answer, message, deed);
    await until(() => crews.living.size === 1);
    assert.deepEqual(crews.threads(), { alive: 1, parked: 0, waiting: 0 }, deed);
  }
  assert.equal((await other.finish()).length, 1);
  await assertServes(crews);
});

test('crew: a job that waits or runs for ever is ended', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { jobMs: 1_000 });
  const jobs = (['wait for ever', 'run for ever'] as const).map((deed) => requestFailure(crews, deed));
  await until(() => jobs.every(({ arrived }) => arrived() === 1));
  clock.tick(999);
  const other = await hold(crews, 1);
  assert.equal(crews.threads().alive, 5);
  clock.tick(1);
  for (const { answer } of jobs) await assert.rejects(answer, /^Error: fail took too long$/);
  await until(() => crews.living.size === 1);
  assert.equal((await other.finish()).length, 1);
  await assertServes(crews);
  assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
});

const INPUTS: readonly [inputFor: (index: number) => unknown, message: RegExp][] = [
  [(index) => (index === 1 ? assert.fail('no input') : index), /no input/],
  [(index) => (index === 1 ? () => index : index), /could not be cloned/],
];

test('crew: an input that throws or cannot be cloned', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t);
  for (const [inputFor, message] of INPUTS) {
    const { signal } = new AbortController();
    await assert.rejects(crews.withCrew(2, 'identify', inputFor, signal), message);
    assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await until(() => crews.living.size === 0);
    assert.deepEqual(crews.threads(), NO_THREADS);
  }
  await assertServes(crews);
});

function moduleOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

const BROKEN: readonly [name: string, tasks: URL, message: RegExp][] = [
  ['throws', moduleOf('throw new Error("broken")'), /^broken$/],
  ['throws a text', moduleOf('throw "broken"'), /^a thread threw 'broken'$/],
  ['ends its thread', moduleOf('process.exit()'), /ended before its job did/],
  ['never loads', moduleOf('await new Promise(() => {})'), /ended before its job did/],
  ['has no rehearsal', moduleOf('export const tasks = {}'), /rehearsal is not a function/],
  ['does not exist', new URL('no-such-tasks.js', import.meta.url), /Cannot find module/],
];

for (const [name, tasks, message] of BROKEN) {
  test(`crew: fails and gives up when the task module ${name}`, async (t) => {
    const clock = stopTime(t);
    const crews = startCrews(t, { tasks, standbys: 2, refillMs: 20, idleMs: 1_000, starting: 1 });
    const { signal } = new AbortController();
    await assertFails(enqueue(crews, 2, signal).answer, message, name);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await until(() => crews.threads().alive === 0);
    // Standbys would fail as well.
    for (let round = 0; round < 10; round += 1) {
      clock.tick(20);
      await nextTurn();
    }
    assert.deepEqual([crews.threads(), crews.started.length], [NO_THREADS, 1]);
    await crews.close();
    assert.deepEqual(clock.pending(), []);
  });
}

test('crew: a thread that never parks is ended', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { tasks: moduleOf('for (;;);'), startMs: 1_000, standbys: 3 });
  const { answer } = enqueue(crews, 1);
  assert.equal(crews.threads().alive, 1);
  clock.tick(999);
  assert.equal(crews.threads().alive, 1);
  clock.tick(1);
  await assert.rejects(answer, /^Error: a thread took too long to start$/);
  await until(() => crews.living.size === 0);
  assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
  assert.equal(crews.started.length, 1);
});

test('crew: each failed start fails one waiting request', async (t) => {
  const crews = startCrews(t, { tasks: moduleOf('process.exit()') });
  const answers = await Promise.allSettled(Array.from({ length: 4 }, () => enqueue(crews, 2).answer));
  for (const { status } of answers) assert.equal(status, 'rejected');
  assert.ok(crews.started.length <= 4 + crews.limits.starting, `${crews.started.length} were started`);
  await until(() => crews.threads().alive === 0);
});

test('crew: an unknown task has no results', async (t) => {
  const tasks = moduleOf('export const tasks = {}; export const rehearsal = () => ({ task: "none", index: 0 });');
  const crews = startCrews(t, { tasks });
  assert.deepEqual(await crews.withCrew(1, 'no such task', () => 0), [undefined]);
  await crews.close();
  await assertUnavailable(enqueue(crews, 1).answer, /shutting down/);
});
