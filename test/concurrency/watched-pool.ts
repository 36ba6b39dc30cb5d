// A thread pool for a test, with what can be observed from outside: the threads that the process
// starts, and how requests end.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { NoThreads, POOL_LIMITS, ThreadPool } from '../../src/concurrency/thread-pool.ts';
import { setLimits } from '../support/overload.ts';
import { until } from '../support/until.ts';
import { createGate, type Identity } from './pool-tasks.ts';

const TASKS = new URL('pool-tasks.js', import.meta.url);

// Each thread would write a file of coverage when it ends.
delete process.env.NODE_V8_COVERAGE;

/** What a test may choose. */
type Choices = Partial<typeof POOL_LIMITS> & { readonly maxThreads?: number; readonly tasks?: URL };

/** A pool under observation. */
export class WatchedPool extends ThreadPool {
  /** All threads that the process has started since, in order. */
  readonly started: Worker[] = [];
  /** Those of them that have not ended. */
  readonly living = new Set<Worker>();

  /** Observes a thread that the process has started. */
  watch(worker: Worker): void {
    this.started.push(worker);
    this.living.add(worker);
    worker.on('exit', () => this.living.delete(worker));
  }
}

/**
 * Returns a pool that is closed when the test ends. By default it starts two threads at a time, and
 * starts more at once while others are leased.
 */
export function startPool(t: Pick<TestContext, 'after'>, choices: Choices = {}): WatchedPool {
  const { maxThreads = 8, tasks = TASKS, ...limits } = choices;
  setLimits(t, POOL_LIMITS, { starting: 2, growMs: 0, ...limits });
  const pool = new WatchedPool(tasks, maxThreads);
  const onWorker = (worker: Worker) => pool.watch(worker);
  process.on('worker', onWorker);
  t.after(async () => {
    await pool.close();
    process.off('worker', onWorker);
  });
  return pool;
}

/** Resolves with the identities of the threads that serve one request. */
export async function identities(
  pool: ThreadPool,
  size: number,
  signal?: AbortSignal,
): Promise<readonly Identity[]> {
  return (await pool.run('identify', [...Array(size).keys()], signal)) as readonly Identity[];
}

/** Asserts that a request for this many threads is served. */
export async function assertServes(pool: ThreadPool, size = 1): Promise<void> {
  const answers = await identities(pool, size);
  assert.deepEqual(
    answers.map(({ index, input }) => ({ index, input })),
    Array.from({ length: size }, (_, index) => ({ index, input: index })),
  );
}

/** A request that lasts until the test ends it. */
export type Held = ReturnType<typeof enqueue>;

/**
 * Requests threads that work until their gate opens. The request may have to wait for its threads.
 */
export function enqueue(
  pool: ThreadPool,
  size: number,
  gone?: AbortSignal,
  mayBeGone?: AbortSignal,
) {
  const gate = createGate();
  const inputs = Array(size).fill(gate.cells);
  const answer = pool.run('wait', inputs, gone, mayBeGone) as Promise<readonly Identity[]>;
  // Some answers fail only because the pool is closed at the end of a test.
  answer.catch(() => undefined);
  return {
    gate,
    answer,
    /** Opens the gate and resolves with the answer. */
    finish() {
      gate.open();
      return answer;
    },
  };
}

/** Requests threads as {@link enqueue} does; resolves once all of them work. */
export async function hold(pool: ThreadPool, size: number, signal?: AbortSignal): Promise<Held> {
  const held = enqueue(pool, size, signal);
  await until(() => held.gate.arrived() === size);
  return held;
}

/** Asserts that a request was refused for now, with this reason. */
export async function assertUnavailable(answer: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof NoThreads, String(error));
    assert.match(error.message, message);
    return true;
  });
}
