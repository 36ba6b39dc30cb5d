// How requests and crews end early: each state of a request is aborted, shut down and closed.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Clock, stopTime } from './clock.ts';
import { createGate } from './crew-tasks.ts';
import { assertServes, assertUnavailable, enqueue, hold, identities, startCrews, type WatchedCrews } from './crews.ts';

const GONE = new Error('the client has gone');
const LIMITS = { maxThreads: 2, refillMs: 20 };

/** How a request ends. */
type End = 'served' | 'aborted' | 'refused' | 'killed';

/** A state of a request, beside another crew of one thread at work. */
interface State {
  readonly name: string;
  readonly standbys: 0 | 1;
  /** Makes a request and brings it into the state. */
  readonly arrange: (crews: WatchedCrews, signal: AbortSignal, clock: Clock) => Promise<Request>;
  /** How the request ends when it is aborted, and when the crews shut down and are closed. */
  readonly ends: { readonly abort: End; readonly shutDown?: End; readonly close: End };
}

interface Request {
  readonly answer: Promise<unknown>;
  readonly finish?: () => void;
}

async function park(crews: WatchedCrews, clock: Clock): Promise<void> {
  clock.tick(LIMITS.refillMs);
  await until(() => crews.threads().parked === 1);
}

const STATES: readonly State[] = [
  {
    name: 'its threads start',
    standbys: 0,
    arrange: async (crews, signal) => enqueue(crews, 1, signal),
    ends: { abort: 'aborted', shutDown: 'refused', close: 'refused' },
  },
  {
    name: 'it waits for threads',
    standbys: 0,
    arrange: async (crews, signal) => enqueue(crews, LIMITS.maxThreads, signal),
    ends: { abort: 'aborted', shutDown: 'refused', close: 'refused' },
  },
  {
    name: 'it has its thread and has not called it',
    standbys: 1,
    async arrange(crews, signal, clock) {
      await park(crews, clock);
      return enqueue(crews, 1, signal);
    },
    ends: { abort: 'aborted', shutDown: 'served', close: 'killed' },
  },
  {
    name: 'it is at work',
    standbys: 0,
    arrange: (crews, signal) => hold(crews, 1, signal),
    ends: { abort: 'aborted', shutDown: 'served', close: 'killed' },
  },
  {
    name: 'it runs for ever',
    standbys: 0,
    async arrange(crews, signal) {
      const { cells } = createGate();
      const input = { deed: 'run for ever', culprit: 0, mates: 0, cells };
      const answer = crews.withCrew(1, 'fail', () => input, signal);
      answer.catch(() => undefined);
      await until(() => crews.threads().alive === 2 && crews.threads().waiting === 0);
      return { answer };
    },
    ends: { abort: 'aborted', close: 'killed' },
  },
  {
    name: 'it is done',
    standbys: 1,
    async arrange(crews, signal, clock) {
      await park(crews, clock);
      await identities(crews, 1, signal);
      return { answer: Promise.resolve() };
    },
    ends: { abort: 'served', shutDown: 'served', close: 'served' },
  },
];

async function assertEnds({ answer, finish }: Request, end: End, signal: AbortSignal): Promise<void> {
  if (end === 'served') finish?.();
  if (end === 'served') await answer;
  if (end === 'aborted') await assert.rejects(answer, (error) => error === GONE);
  if (end === 'refused') await assertUnavailable(answer, /shutting down/);
  if (end === 'killed') await assert.rejects(answer, /ended before its job did/);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
}

async function arrange(t: TestContext, state: State) {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, standbys: state.standbys });
  const other = await hold(crews, 1);
  const controller = new AbortController();
  const request = await state.arrange(crews, controller.signal, clock);
  return { clock, crews, other, controller, request };
}

for (const state of STATES) {
  const { abort, shutDown, close } = state.ends;

  test(`crew: a request is aborted while ${state.name}`, async (t) => {
    const { clock, crews, other, controller, request } = await arrange(t, state);
    controller.abort(GONE);
    await assertEnds(request, abort, controller.signal);
    await until(() => crews.threads().alive === 1);
    // The other crew, and nothing of the request.
    assert.deepEqual(
      clock.pending().filter((ms) => ms !== LIMITS.refillMs),
      [crews.limits.jobMs, crews.limits.idleMs],
    );
    assert.equal((await other.finish()).length, 1);
  });

  if (shutDown) {
    test(`crew: shuts down while ${state.name}`, async (t) => {
      const { clock, crews, other, controller, request } = await arrange(t, state);
      crews.shutDown();
      await assertUnavailable(identities(crews, 1), /shutting down/);
      await assertEnds(request, shutDown, controller.signal);
      // Threads that were still starting end as soon as they have started.
      await until(() => crews.threads().alive === 1);
      assert.equal((await other.finish()).length, 1);
      await until(() => crews.living.size === 0);
      assert.deepEqual(clock.pending(), []);
    });
  }

  test(`crew: closes while ${state.name}`, async (t) => {
    const { clock, crews, other, controller, request } = await arrange(t, state);
    const closed = assertCloses(crews, clock);
    await assertEnds(request, close, controller.signal);
    await assert.rejects(other.answer, /ended before its job did/);
    await closed;
  });
}

/** Asserts that closing, even twice, ends every thread and leaves no timer. */
async function assertCloses(crews: WatchedCrews, clock: Clock): Promise<void> {
  await Promise.all([crews.close(), crews.close()]);
  assert.deepEqual([crews.threads(), crews.living.size], [{ alive: 0, parked: 0, waiting: 0 }, 0]);
  const started = crews.started.length;
  await assertUnavailable(identities(crews, 1), /shutting down/);
  await nextTurn();
  assert.deepEqual([crews.started.length, clock.pending()], [started, []]);
}

test('crew: closes before the first use', async (t) => {
  const clock = stopTime(t);
  await assertCloses(startCrews(t), clock);
});

test('crew: closes while one standby is idle and another is due', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, standbys: 2 });
  await assertServes(crews);
  await until(() => crews.threads().alive === 0);
  await park(crews, clock);
  assert.ok(clock.pending().includes(LIMITS.refillMs));
  await assertCloses(crews, clock);
});

test('crew: a request that was aborted before starts nothing', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { standbys: 3 });
  const signal = AbortSignal.abort(GONE);
  await assertEnds({ answer: identities(crews, 2, signal) }, 'aborted', signal);
  assert.deepEqual(clock.pending(), []);
  clock.tick(1_000);
  await nextTurn();
  assert.equal(crews.started.length, 0);
});

test('crew: an abort after the grant calls no thread', async (t) => {
  const clock = stopTime(t);
  const crews = startCrews(t, { ...LIMITS, standbys: 1 });
  await assertServes(crews);
  await until(() => crews.threads().alive === 0);
  await park(crews, clock);
  const controller = new AbortController();
  let inputs = 0;
  const answer = crews.withCrew(1, 'identify', () => ++inputs, controller.signal);
  assert.equal(crews.threads().parked, 0);
  controller.abort(GONE);
  await assertEnds({ answer }, 'aborted', controller.signal);
  assert.equal(inputs, 0);
  await until(() => crews.threads().alive === 0);
});
