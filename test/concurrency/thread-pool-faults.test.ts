// A failure in a thread, or before its call, costs its own request only: no other request, no
// thread, no timer, no listener.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { until } from '../support/until.ts';
import { stopTime } from './clock.ts';
import { createGate, type Deed } from './pool-tasks.ts';
import { assertServes, enqueue, hold, startPool, type WatchedPool } from './watched-pool.ts';

const NO_THREADS = { alive: 0, idle: 0, waiting: 0 };

/** Requests two threads, of which the second fails while the first waits for ever. */
function requestFailure(pool: WatchedPool, deed: Deed) {
  const { cells, arrived } = createGate();
  const answer = pool.run('fail', Array(2).fill({ deed, mates: 1, cells }));
  return { answer, arrived };
}

async function assertFails(answer: Promise<unknown>, message: RegExp, label: string) {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof Error, label);
    assert.match(error.message, message, label);
    return true;
  });
}

const FAULTS: readonly [Deed, RegExp][] = [
  ['throw', /^thrown by a thread$/],
  ['exit', /ended before its job did/],
];

test('threads: a thread that fails ends its own request only', async (t) => {
  const pool = startPool(t);
  const other = await hold(pool, 1);
  for (const [deed, message] of FAULTS) {
    await assertFails(requestFailure(pool, deed).answer, message, deed);
    await until(() => pool.living.size === 1);
    assert.deepEqual(pool.counts(), { alive: 1, idle: 0, waiting: 0 }, deed);
  }
  assert.equal((await other.finish()).length, 1);
  await assertServes(pool);
});

test('threads: a job that waits or runs for ever is ended', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t, { jobMs: 1_000 });
  const jobs = (['wait for ever', 'run for ever'] as const).map((deed) =>
    requestFailure(pool, deed),
  );
  await until(() => jobs.every(({ arrived }) => arrived() === 1));
  clock.tick(999);
  const other = await hold(pool, 1);
  assert.equal(pool.counts().alive, 5);
  clock.tick(1);
  for (const { answer } of jobs) await assert.rejects(answer, /^Error: fail took too long$/);
  await until(() => pool.living.size === 1);
  assert.equal((await other.finish()).length, 1);
  await assertServes(pool);
  assert.deepEqual(clock.pending(), [POOL_LIMITS.idleMs]);
});

test('threads: an input that cannot be cloned', async (t) => {
  const clock = stopTime(t);
  const pool = startPool(t);
  const { signal } = new AbortController();
  await assert.rejects(pool.run('identify', [0, () => 1], signal), /could not be cloned/);
  assert.deepEqual(clock.pending(), [POOL_LIMITS.idleMs]);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await until(() => pool.living.size === 0);
  await assertServes(pool);
});

function moduleOf(text: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

const BROKEN: readonly [name: string, tasks: URL, message: RegExp][] = [
  ['throws', moduleOf('throw new Error("broken")'), /^broken$/],
  ['ends its thread', moduleOf('process.exit()'), /ended before its job did/],
  ['never loads', moduleOf('await new Promise(() => {})'), /ended before its job did/],
  ['does not exist', new URL('no-such-tasks.js', import.meta.url), /Cannot find module/],
];

for (const [name, tasks, message] of BROKEN) {
  test(`threads: fails and gives up when the task module ${name}`, async (t) => {
    const clock = stopTime(t);
    const pool = startPool(t, { tasks, starting: 1 });
    const { signal } = new AbortController();
    await assertFails(enqueue(pool, 2, signal).answer, message, name);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await until(() => pool.counts().alive === 0);
    await nextTurn();
    assert.deepEqual([pool.counts(), pool.started.length], [NO_THREADS, 1]);
    await pool.close();
    assert.deepEqual(clock.pending(), []);
  });
}

test('threads: each failed start fails one waiting request', async (t) => {
  const pool = startPool(t, { tasks: moduleOf('process.exit()') });
  const answers = await Promise.allSettled(
    Array.from({ length: 4 }, () => enqueue(pool, 2).answer),
  );
  for (const { status } of answers) assert.equal(status, 'rejected');
  assert.ok(pool.started.length <= 4 + POOL_LIMITS.starting, `${pool.started.length} were started`);
  await until(() => pool.counts().alive === 0);
});

test('threads: if the system refuses a thread, only the waiting requests fail', async (t) => {
  const tasks = new URL('pool-tasks.js', import.meta.url);
  const pool = startPool(t, { tasks });
  const { href } = tasks;
  // The constructor of a thread throws for this module, as it does when the system has none left.
  tasks.href = 'http://localhost/';
  const answers = await Promise.allSettled([2, 4].map((size) => enqueue(pool, size).answer));
  for (const { status } of answers) assert.equal(status, 'rejected');
  assert.deepEqual(pool.counts(), NO_THREADS);
  tasks.href = href;
  await assertServes(pool);
});
