// What goes wrong in a thread, or before it is called, costs its own request and nothing else: no other crew, no thread, no
// timer, no listener.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import { createGate, type Deed } from './crew-tasks.ts';
import { ask, assertServes, assertUnavailable, hold, type Supply, startSupply } from './supply.ts';

/** Has a crew of three go wrong by its second thread, when the two others wait for ever. */
function goWrong(crews: Supply, deed: Deed) {
  const { cells, arrived } = createGate();
  const answer = crews.withCrew(3, 'fail', () => ({ deed, culprit: 1, mates: 2, cells }));
  return { answer, arrived };
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

for (const [deed, message] of FAULTS) {
  test(`a thread that does this fails its own crew and no other: ${deed}`, async (t) => {
    const crews = startSupply(t);
    const other = await hold(crews, 2);
    const { answer } = goWrong(crews, deed);
    await assert.rejects(answer, (error) => {
      assert.ok(error instanceof Error, typeof error);
      assert.match(error.message, message);
      return true;
    });
    // Its mates are ended, although they would wait for ever.
    await until(() => crews.living.size === 2);
    assert.deepEqual(crews.threads(), { alive: 2, parked: 0, waiting: 0 });
    assert.equal((await other.finish()).length, 2);
    await assertServes(crews, 3);
  });
}

for (const deed of ['wait for ever', 'run for ever'] as const) {
  test(`a thread that does this is ended with its crew after a while: ${deed}`, async (t) => {
    const clock = stopTime(t);
    const crews = startSupply(t, { jobMs: 1_000 });
    const { answer, arrived } = goWrong(crews, deed);
    await until(() => arrived() === 2);
    clock.tick(999);
    const other = await hold(crews, 2);
    assert.equal(crews.threads().alive, 5);
    clock.tick(1);
    await assert.rejects(answer, /^Error: fail took too long$/);
    await until(() => crews.living.size === 2);
    assert.equal((await other.finish()).length, 2);
    await assertServes(crews, 3);
    assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
  });
}

const INPUTS: readonly [name: string, inputFor: (index: number) => unknown, message: RegExp][] = [
  ['that cannot be made', (index) => (index === 1 ? assert.fail('no input') : index), /no input/],
  ['that cannot be cloned', (index) => (index === 1 ? () => index : index), /could not be cloned/],
];

for (const [name, inputFor, message] of INPUTS) {
  test(`an input ${name} fails the request and leaves nothing behind`, async (t) => {
    const clock = stopTime(t);
    const crews = startSupply(t);
    const { signal } = new AbortController();
    await assert.rejects(crews.withCrew(3, 'identify', inputFor, signal), message);
    assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await until(() => crews.living.size === 0);
    assert.deepEqual(crews.threads(), { alive: 0, parked: 0, waiting: 0 });
    await assertServes(crews, 3);
  });
}

const NOTHING_TO_DO = 'export const tasks = {}; export const rehearsal = () => ({ task: "none", index: 0 });';

const BROKEN: readonly [name: string, tasks: string, message: RegExp][] = [
  ['that throws when it is loaded', 'throw new Error("broken")', /^broken$/],
  ['that throws what is no error', 'throw "broken"', /^a thread threw 'broken'$/],
  ['that ends its thread when it is loaded', 'process.exit()', /ended before its job did/],
  ['that never finishes loading', 'await new Promise(() => {})', /ended before its job did/],
  ['that has no rehearsal', 'export const tasks = {}', /rehearsal is not a function/],
];

async function assertBroken(crews: Supply, message: RegExp): Promise<void> {
  const controller = new AbortController();
  await assert.rejects(
    crews.withCrew(4, 'identify', () => undefined, controller.signal),
    (error) => {
      assert.ok(error instanceof Error, typeof error);
      assert.match(error.message, message);
      return true;
    },
  );
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  await until(() => crews.threads().alive === 0);
}

async function assertGivesUp(t: Parameters<typeof stopTime>[0], tasks: URL, message: RegExp): Promise<void> {
  const clock = stopTime(t);
  const crews = startSupply(t, { tasks, standbys: 3, refillMs: 20, idleMs: 1_000 });
  for (const request of [1, 2]) {
    await assertBroken(crews, message);
    // Standbys would fare no better.
    for (let round = 0; round < 10; round += 1) {
      clock.tick(20);
      await nextTurn();
    }
    assert.equal(crews.threads().alive, 0);
    assert.ok(crews.started.length <= request * crews.limits.starting, `${crews.started.length} were started`);
  }
  await crews.close();
  assert.deepEqual(clock.pending(), []);
}

for (const [name, text, message] of BROKEN) {
  test(`a task module ${name} fails each request, and is not tried again and again`, (t) =>
    assertGivesUp(t, new URL(`data:text/javascript,${encodeURIComponent(text)}`), message));
}

test('a task module that does not exist fails each request, and is not looked for again and again', (t) =>
  assertGivesUp(t, new URL('no-such-tasks.js', import.meta.url), /Cannot find module/));

test('a thread that never parks is ended after a while, and who waits for it hears of it', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { tasks: new URL('data:text/javascript,for (;;);'), startMs: 1_000, standbys: 3 });
  const { answer } = ask(crews, 2);
  assert.equal(crews.threads().alive, 2);
  clock.tick(999);
  assert.equal(crews.threads().alive, 2);
  clock.tick(1);
  await assert.rejects(answer, /^Error: a thread took too long to start$/);
  await until(() => crews.living.size === 0);
  assert.deepEqual(clock.pending(), [crews.limits.idleMs]);
  assert.equal(crews.started.length, 2);
});

test('threads that cannot be started fail the requests that wait for them, each its own', async (t) => {
  const crews = startSupply(t, { tasks: new URL('data:text/javascript,process.exit()') });
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => ask(crews, 2).answer));
  for (const { status } of answers) assert.equal(status, 'rejected');
  assert.ok(crews.started.length <= 20 + crews.limits.starting, `${crews.started.length} were started`);
  await until(() => crews.threads().alive === 0);
});

test('standbys that can no longer be started are given up until the next request', async (t) => {
  const clock = stopTime(t);
  const crews = startSupply(t, { standbys: 3, refillMs: 20 });
  await assertServes(crews, 1);
  await until(() => crews.threads().alive === 0);
  clock.tick(20);
  await until(() => crews.started.length === 2);
  await crews.started[1]?.terminate();
  await until(() => crews.threads().alive === 0);
  clock.tick(200);
  await nextTurn();
  assert.equal(crews.started.length, 2);
  await assertServes(crews, 1);
  clock.tick(20);
  await until(() => crews.threads().parked === 1);
});

test('a task that there is not does not disturb the supply', async (t) => {
  const crews = startSupply(t, { tasks: new URL(`data:text/javascript,${encodeURIComponent(NOTHING_TO_DO)}`) });
  assert.deepEqual(await crews.withCrew(2, 'no such task', () => 0), [undefined, undefined]);
  await crews.close();
  await assertUnavailable(ask(crews, 1).answer, /shutting down/);
});
