// Threads for the tests of the primitives. V8 tells how many threads sleep in Atomics.wait on a
// cell, not counting those that have been notified but do not run yet. So the tests see exactly
// which threads sleep and never wait for a time.
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { until } from '../support/until.ts';
import type { Job, Outcome, Tasks, ThreadData } from './test-thread.ts';

const TEST_THREAD = new URL('test-thread.js', import.meta.url);

setFlagsFromString('--allow-natives-syntax');
const sleepersOn: (cells: Int32Array, cell: number) => number = runInThisContext(
  '(cells, cell) => %AtomicsNumWaitersForTesting(cells, cell)',
);

/** What the threads do when none of them runs any more. */
export interface Settled {
  /** The threads that pause. */
  readonly paused: readonly number[];
  /** How many sleep in a primitive. */
  readonly asleep: number;
}

/** Several threads. */
export interface TestThreads {
  /** Names the cells in which threads may sleep from now on, and returns the first. */
  watch(...cells: Int32Array[]): Int32Array;
  /**
   * Starts a task on a thread, which pauses before its operation `pauseBefore` on shared memory.
   */
  start<Name extends keyof Tasks>(
    thread: number,
    task: Name,
    input: Parameters<Tasks[Name]>[0],
    pauseBefore?: number,
  ): void;
  /** Resolves when every thread has ended its task, pauses, or sleeps in the watched cells. */
  settle(): Promise<Settled>;
  /** Lets paused threads continue. */
  resume(threads: readonly number[]): void;
  /**
   * Resolves with the outcomes of all tasks since the last call, in the order of the threads.
   * Rejects if a task failed, or if threads sleep that nobody will wake.
   */
  end(): Promise<readonly Outcome[]>;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Starts threads. */
export function startThreads(size: number): TestThreads {
  const wakes = sharedCells(1);
  const outcomes = new Map<number, Outcome>();
  const busy = new Set<number>();
  let watched: readonly Int32Array[] = [];
  let crash: unknown;

  const threads = Array.from({ length: size }, (_, thread) => {
    const gate = sharedCells(1);
    const worker = new Worker(TEST_THREAD, {
      workerData: { gate, wakes } satisfies ThreadData,
    });
    worker.on('message', (outcome: Outcome) => {
      outcomes.set(thread, outcome);
      busy.delete(thread);
    });
    worker.on('error', (error) => {
      crash = error;
    });
    return { worker, gate };
  });

  function look(): Settled | undefined {
    if (crash) throw crash;
    const paused = [...threads.keys()].filter(
      (thread) => sleepersOn(threads[thread]?.gate ?? wakes, 0) > 0,
    );
    const asleep = watched.reduce((sum, cells) => sum + sleepersIn(cells), 0);
    if (paused.length + asleep < busy.size) return undefined;
    return { paused, asleep };
  }

  async function settle(): Promise<Settled> {
    let settled: Settled | undefined;
    await until(() => {
      // During one look a thread may wake another and go to sleep itself, so that both are counted.
      // A thread that was asleep in two looks and has not woken up since the first was asleep
      // between them.
      const before = Atomics.load(wakes, 0);
      settled = look() && look();
      return settled !== undefined && Atomics.load(wakes, 0) === before;
    });
    return settled ?? assert.fail();
  }

  return {
    settle,

    watch(...cells) {
      watched = cells;
      return cells[0] ?? assert.fail('no cells');
    },

    start(thread, task, input, pauseBefore) {
      assert.ok(!busy.has(thread), `thread ${thread} still has a task`);
      busy.add(thread);
      outcomes.delete(thread);
      threads[thread]?.worker.postMessage({ task, input, pauseBefore } satisfies Job);
    },

    resume(paused) {
      for (const thread of paused) {
        const { gate } = threads[thread] ?? assert.fail(`no thread ${thread}`);
        Atomics.add(gate, 0, 1);
        Atomics.notify(gate, 0);
      }
    },

    async end() {
      const { asleep, paused } = await settle();
      const ended = [...outcomes]
        .sort(([one], [other]) => one - other)
        .map(([, outcome]) => outcome);
      outcomes.clear();
      for (const { error } of ended) if (error) throw new Error(`a thread failed: ${error}`);
      assert.ok(paused.length === 0, 'a thread still pauses');
      assert.ok(asleep === 0, `${asleep} sleep for good`);
      return ended;
    },

    async close() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}

/** Returns how many threads sleep in these cells. */
function sleepersIn(cells: Int32Array): number {
  return cells.reduce((sum, _, cell) => sum + sleepersOn(cells, cell), 0);
}

/**
 * Wakes all threads that sleep in these cells although nothing has changed; returns how many did.
 */
export function wakeInVain(cells: Int32Array): number {
  return cells.reduce((sum, _, cell) => sum + Atomics.notify(cells, cell), 0);
}
