// Threads for the tests of the primitives. V8 tells how many threads sleep in Atomics.wait on a
// cell, not counting those that have been notified but do not run yet. So the tests see exactly
// which threads sleep and never wait for a time.
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { sharedCells } from '../../src/concurrency/sync.ts';
import type { Ends } from '../support/engine.ts';
import { until } from '../support/until.ts';
import type { Job, Outcome, Tasks, ThreadData } from './test-thread.ts';

const TEST_THREAD = new URL('test-thread.js', import.meta.url);

setFlagsFromString('--allow-natives-syntax');
/** Returns how many threads sleep on a cell. */
export const sleepersOn: (cells: Int32Array, cell: number) => number = runInThisContext(
  '(cells, cell) => %AtomicsNumWaitersForTesting(cells, cell)',
);

/** What the threads do when none of them runs any more. */
export interface Settled {
  /** The threads that pause. */
  readonly paused: readonly number[];
  /** How many sleep in a primitive. */
  readonly asleep: number;
}

/** Several threads, which end with `test`. */
export class TestThreads {
  readonly #wakes = sharedCells(1);
  readonly #gates: readonly Int32Array[];
  readonly #workers: readonly Worker[];
  readonly #busy = new Set<number>();
  #outcomes: Outcome[] = [];
  #watched = sharedCells(0);
  #crash: unknown;

  constructor(test: Ends, size: number) {
    this.#gates = Array.from({ length: size }, () => sharedCells(1));
    this.#workers = this.#gates.map((gate, thread) => {
      const workerData: ThreadData = { gate, wakes: this.#wakes };
      const worker = new Worker(TEST_THREAD, { workerData });
      worker.on('message', (outcome: Outcome) => {
        this.#outcomes[thread] = outcome;
        this.#busy.delete(thread);
      });
      worker.on('error', (error) => {
        this.#crash = error;
      });
      return worker;
    });
    test.after(() => Promise.all(this.#workers.map((worker) => worker.terminate())));
  }

  /** Names the cells in which threads may sleep from now on, and returns them. */
  watch(cells: Int32Array): Int32Array {
    this.#watched = cells;
    return cells;
  }

  /** Starts a task, which pauses before its operation `pauseBefore` on shared memory. */
  start<Name extends keyof Tasks>(
    thread: number,
    task: Name,
    input: Parameters<Tasks[Name]>[0],
    pauseBefore = Number.POSITIVE_INFINITY,
  ): void {
    assert.ok(!this.#busy.has(thread), `thread ${thread} still has the task of an earlier test`);
    this.#busy.add(thread);
    this.#workers[thread]?.postMessage({ task, input, pauseBefore } satisfies Job);
  }

  /** Resolves when every thread has ended its task, pauses, or sleeps in the watched cells. */
  async settle(): Promise<Settled> {
    let settled: Settled | undefined;
    await until(() => {
      // During one look a thread may wake another and go to sleep itself, so that both are counted.
      // A thread that was asleep in two looks and has not woken up since the first was asleep
      // between them.
      const before = Atomics.load(this.#wakes, 0);
      settled = this.#look() && this.#look();
      return settled !== undefined && Atomics.load(this.#wakes, 0) === before;
    });
    return settled ?? assert.fail();
  }

  #look(): Settled | undefined {
    if (this.#crash) throw this.#crash;
    const paused = [...this.#gates.keys()].filter((thread) => {
      return sleepersOn(this.#gates[thread] ?? this.#wakes, 0) > 0;
    });
    const cells = this.#watched;
    const asleep = cells.reduce((sum, _, cell) => sum + sleepersOn(cells, cell), 0);
    return paused.length + asleep < this.#busy.size ? undefined : { paused, asleep };
  }

  /** Lets a paused thread continue. */
  resume(thread: number): void {
    const gate = this.#gates[thread] ?? assert.fail(`no thread ${thread}`);
    Atomics.add(gate, 0, 1);
    Atomics.notify(gate, 0);
  }

  /**
   * Resolves with the outcomes of all tasks since the last call, in the order of the threads.
   * Rejects if a task failed, or if threads sleep that nobody will wake.
   */
  async end(): Promise<readonly Outcome[]> {
    assert.deepEqual(await this.settle(), { paused: [], asleep: 0 }, 'threads sleep for good');
    const ended = this.#outcomes;
    this.#outcomes = [];
    return ended;
  }
}
