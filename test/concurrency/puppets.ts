// Threads for the tests of the primitives, which see exactly which of them sleep: V8 counts the threads in Atomics.wait
// on a cell for its own tests, without those that have been notified but do not run yet. So nothing here goes by time.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import type { Job, Outcome, PuppetData, Sync, Tasks } from './puppet.ts';

const PUPPET = new URL('puppet.js', import.meta.url);

setFlagsFromString('--allow-natives-syntax');
const sleepersOn: (cells: Int32Array, cell: number) => number = runInThisContext(
  '(cells, cell) => %AtomicsNumWaitersForTesting(cells, cell)',
);

/** What the threads do when none of them runs any more. */
export interface Rest {
  /** The threads that have ended their tasks, and those that pause. */
  readonly ended: readonly number[];
  readonly paused: readonly number[];
  /** How many sleep in a primitive. */
  readonly asleep: number;
}

/** Threads that do what they are told, and the primitives that they use. */
export interface Puppets {
  readonly sync: Sync;
  /** Says in which cells threads may sleep from now on, and returns them. */
  watch(cells: Int32Array): Int32Array;
  watch(...cells: Int32Array[]): void;
  /** Has a thread do a task, and pause before its operation `stopBefore` on shared memory. */
  start<Name extends keyof Tasks>(
    thread: number,
    task: Name,
    input: Parameters<Tasks[Name]>[0],
    stopBefore?: number,
  ): void;
  /** Resolves when every thread has ended its task, pauses or sleeps in the watched cells. */
  rest(): Promise<Rest>;
  /** Lets those threads go on that pause. */
  goOn(threads: readonly number[]): void;
  /** Resolves with what came of the last tasks; rejects if a task failed, or if threads sleep that nobody will wake. */
  end(): Promise<readonly Outcome[]>;
}

/** Starts threads that end with the test. `module` is the URL of their primitives. */
export async function startPuppets(test: TestContext, size: number, module: string): Promise<Puppets> {
  const sync: Sync = await import(module);
  const wakes = sync.sharedCells(1);
  const workers: Worker[] = [];
  const gates: Int32Array[] = [];
  const outcomes = new Map<number, Outcome>();
  const busy = new Set<number>();
  let watched: readonly Int32Array[] = [];
  let crash: unknown;

  for (let thread = 0; thread < size; thread += 1) {
    const gate = sync.sharedCells(1);
    const workerData: PuppetData = { module, gate, wakes };
    const worker = new Worker(PUPPET, { workerData });
    worker.on('message', (outcome: Outcome) => {
      outcomes.set(thread, outcome);
      busy.delete(thread);
    });
    worker.on('error', (error) => {
      crash = error;
    });
    workers.push(worker);
    gates.push(gate);
  }
  test.after(() => Promise.all(workers.map((worker) => worker.terminate())));

  const everyThread = [...workers.keys()];
  const isPaused = (thread: number) => sleepersOn(gates[thread] ?? wakes, 0) > 0;

  function look(): Rest | undefined {
    const paused = everyThread.filter(isPaused);
    const asleep = watched.reduce((sum, cells) => sum + sleepersIn(cells), 0);
    if (paused.length + asleep < busy.size) return undefined;
    return { ended: everyThread.filter((thread) => outcomes.has(thread)), paused, asleep };
  }

  async function rest(): Promise<Rest> {
    for (;;) {
      if (crash) throw crash;
      test.signal.throwIfAborted();
      // While one look goes over the cells, a thread may wake another and sleep in its turn, so that both are counted. But
      // who was asleep in two looks and has not woken up since the first was asleep between them.
      const before = Atomics.load(wakes, 0);
      if (look()) {
        const found = look();
        if (found && Atomics.load(wakes, 0) === before) return found;
      }
      await nextTurn();
    }
  }

  return {
    sync,

    watch(...cells: Int32Array[]) {
      watched = cells;
      return cells[0] as Int32Array;
    },

    start(thread, task, input, stopBefore) {
      assert.ok(!busy.has(thread), `thread ${thread} still has a task`);
      busy.add(thread);
      outcomes.delete(thread);
      workers[thread]?.postMessage({ task, input, stopBefore } satisfies Job);
    },

    rest,

    goOn(threads) {
      for (const gate of threads.flatMap((thread) => gates[thread] ?? [])) {
        Atomics.add(gate, 0, 1);
        Atomics.notify(gate, 0);
      }
    },

    async end() {
      const { asleep, paused } = await rest();
      for (const { error } of outcomes.values()) if (error) throw new Error(`a thread failed: ${error}`);
      assert.ok(paused.length === 0, 'a thread still pauses');
      assert.ok(asleep === 0, `${asleep} sleep for good`);
      return everyThread.flatMap((thread) => outcomes.get(thread) ?? []);
    },
  };
}

/** Returns how many threads sleep in these cells. */
export function sleepersIn(cells: Int32Array): number {
  return cells.reduce((sum, _, cell) => sum + sleepersOn(cells, cell), 0);
}

/** Wakes whoever sleeps in these cells for no reason, and returns how many did. */
export function wakeInVain(cells: Int32Array): number {
  return cells.reduce((sum, _, cell) => sum + Atomics.notify(cells, cell), 0);
}
