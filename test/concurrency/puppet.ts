// A thread of the tests of the primitives. It does one task after the other, with the primitives of the module it is
// given, and can be made to pause at a chosen point: in the task, or before any operation on shared memory.
import { parentPort, workerData } from 'node:worker_threads';

/** The module of the primitives, or one that has a slip in it. */
export type Sync = typeof import('../../src/concurrency/sync.ts');

/** What a thread is given when it starts. */
export interface PuppetData {
  /** The URL of a {@link Sync}. */
  readonly module: string;
  /** One cell for the thread: how often it has been let go on from a pause. */
  readonly gate: Int32Array;
  /** One cell for all threads: how often any of them has woken up in a primitive. */
  readonly wakes: Int32Array;
}

/** A task with its input. The thread pauses before its operation `stopBefore` on shared memory, counted from 0. */
export interface Job {
  readonly task: keyof Tasks;
  readonly input: unknown;
  readonly stopBefore: number | undefined;
}

/** What came of a task, and whether the point before which it was to stop was reached. */
export interface Outcome {
  readonly value?: unknown;
  readonly error?: unknown;
  readonly stopped: boolean;
}

/** What a thread can be asked to do. */
export type Tasks = typeof tasks;

const { module, gate, wakes }: PuppetData = workerData;
const sync: Sync = await import(module);

// The cells of the tally of `runWithPermit`: how many threads were let in, and how many are inside.
const ENTERED = 0;
const INSIDE = 1;

const tasks = {
  /** Calls one method of a primitive and returns what it returns. */
  call({ open, cells, method, args = [] }: Call): unknown {
    const primitive: Record<string, (...args: number[]) => unknown> = { ...sync[open](cells) };
    return primitive[method]?.(...args);
  },

  /** Calls one method of a primitive and returns whether it came back before its time was over. */
  callInTime(call: Call): boolean {
    try {
      tasks.call(call);
      return true;
    } catch (error) {
      if (error instanceof sync.WaitTimeout) return false;
      throw error;
    }
  },

  /** Adds one to a counter in two steps, which only the lock makes one; pauses between the first two if it is told to. */
  countUnderLock({ cells, counter, rounds, pauses }: Shared & { counter: Int32Array }): void {
    const mutex = sync.openMutex(cells);
    for (let round = 0; round < rounds; round += 1) {
      mutex.lock();
      const seen = counter[0] ?? 0;
      if (pauses && round === 0) pause();
      counter[0] = seen + 1;
      mutex.unlock();
    }
  },

  /**
   * Takes permits and gives them back. The first `fill` threads that are let in pause with their permits. Returns how
   * many were inside at most when this one came in.
   */
  runWithPermit({ cells, tally, rounds, fill }: Shared & { tally: Int32Array; fill: number }): number {
    const semaphore = sync.openSemaphore(cells);
    let peak = 0;
    for (let round = 0; round < rounds; round += 1) {
      semaphore.acquire();
      peak = Math.max(peak, Atomics.add(tally, INSIDE, 1) + 1);
      if (Atomics.add(tally, ENTERED, 1) < fill) pause();
      Atomics.sub(tally, INSIDE, 1);
      semaphore.release();
    }
    return peak;
  },

  /** Opens one of two events to the followers in each round, and closes it when all of them have come through. */
  lead({ events, progress, rounds }: Procession): void {
    const [even, odd, all] = events.map(sync.openEvent);
    pause();
    for (let round = 0; round < rounds; round += 1) {
      const go = round % 2 === 0 ? even : odd;
      progress[0] = round;
      go?.set();
      all?.wait();
      all?.reset();
      go?.reset();
    }
  },

  /** Passes the event of each round, and returns in how many the leader was in the same round. */
  follow({ events, progress, rounds, followers }: Procession): number {
    const [even, odd, all] = events.map(sync.openEvent);
    let together = 0;
    for (let round = 0; round < rounds; round += 1) {
      const go = round % 2 === 0 ? even : odd;
      go?.wait();
      if (progress[0] === round) together += 1;
      if (Atomics.add(progress, 1, 1) + 1 === followers * (round + 1)) all?.set();
    }
    return together;
  },

  /** Meets the others after each round, and returns after how many meetings a thread was not where it must be. */
  meet({ cells, ended, index, rounds, pauses }: Shared & { ended: Int32Array; index: number }): number {
    const barrier = sync.openBarrier(cells);
    let wrong = 0;
    for (let round = 1; round <= rounds; round += 1) {
      if (pauses && round === 1) pause();
      ended[index] = round;
      barrier.arrive();
      // Who was quicker may have ended the next round, but not the one after it: that takes this thread.
      if (!ended.every((other) => other === round || other === round + 1)) wrong += 1;
    }
    return wrong;
  },

  /** Puts values into a queue and returns the depths after each. */
  produce({ cells, values }: { cells: Int32Array; values: readonly number[] }): number[] {
    const queue = sync.openQueue(cells);
    return values.map((value) => queue.put(value));
  },

  /** Takes values out of a queue up to the first sentinel and returns them; pauses before the first if it is told to. */
  consume({ cells, pauses }: { cells: Int32Array; pauses?: boolean }): number[] {
    const queue = sync.openQueue(cells);
    const values: number[] = [];
    if (pauses) pause();
    for (let value = queue.take(); value !== sync.END; value = queue.take()) values.push(value);
    return values;
  },
};

/** A call of a method of a primitive. */
export interface Call {
  readonly open: 'openMutex' | 'openSemaphore' | 'openEvent' | 'openBarrier' | 'openQueue';
  readonly cells: Int32Array;
  readonly method: string;
  readonly args?: readonly number[];
}

interface Shared {
  readonly cells: Int32Array;
  readonly rounds: number;
  readonly pauses?: boolean;
}

interface Procession {
  /** The cells of three events: the followers' of even rounds and of odd ones, and the leader's. */
  readonly events: readonly Int32Array[];
  /** The round of the leader, and how many followers have passed all in all. */
  readonly progress: Int32Array;
  readonly rounds: number;
  readonly followers: number;
}

const OPERATIONS = ['load', 'store', 'add', 'sub', 'exchange', 'compareExchange', 'wait', 'notify'] as const;
const { load, wait, add } = Atomics;
type Operation = (...args: never) => unknown;
const originals: Record<string, Operation> = Object.fromEntries(OPERATIONS.map((name) => [name, Atomics[name]]));

// Who looks whether a thread has been asleep all the time must hear that it was not.
originals.wait = (...args: Parameters<typeof wait>) => {
  const outcome = wait(...args);
  add(wakes, 0, 1);
  return outcome;
};
Object.assign(Atomics, originals);

let pauses = 0;

/** Sleeps at the gate until the thread is let go on once more. */
function pause(): void {
  while (load(gate, 0) === pauses) wait(gate, 0, pauses);
  pauses += 1;
}

/** Runs `work`, pausing before its operation `stopBefore` on shared memory; `onStop` hears of it. */
function runStopping<Result>(work: () => Result, stopBefore: number, onStop: () => void): Result {
  let operation = 0;
  const stopping = OPERATIONS.map((name) => [
    name,
    (...args: unknown[]) => {
      if (operation === stopBefore) {
        onStop();
        pause();
      }
      operation += 1;
      return Reflect.apply(originals[name] as Operation, Atomics, args);
    },
  ]);
  Object.assign(Atomics, Object.fromEntries(stopping));
  try {
    return work();
  } finally {
    Object.assign(Atomics, originals);
  }
}

parentPort?.on('message', ({ task, input, stopBefore }: Job) => {
  let stopped = false;
  const work = () => tasks[task](input as never);
  const onStop = () => {
    stopped = true;
  };
  let result: { value: unknown } | { error: unknown };
  try {
    result = { value: stopBefore === undefined ? work() : runStopping(work, stopBefore, onStop) };
  } catch (error) {
    result = { error: String(error) };
  }
  parentPort?.postMessage({ ...result, stopped } satisfies Outcome);
});
