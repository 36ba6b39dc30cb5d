// A thread of the tests of the primitives. It runs one task after the other, and can pause before
// any operation on shared memory.
import { parentPort, workerData } from 'node:worker_threads';
import { Barrier, BoundedQueue, END, Event, Mutex, Semaphore } from '../../src/concurrency/sync.ts';

/** What a thread is given when it starts. */
export interface ThreadData {
  /** One cell for the thread: how often it was resumed. */
  readonly gate: Int32Array;
  /** One cell for all threads: how often any of them woke up in a primitive. */
  readonly wakes: Int32Array;
}

/** A task with its input. */
export interface Job {
  readonly task: keyof Tasks;
  readonly input: unknown;
  /** The thread pauses before this operation on shared memory, counted from 0. */
  readonly pauseBefore: number;
}

/** What a task returned, and whether it came to the point before which it was to pause. */
export interface Outcome {
  readonly value: unknown;
  readonly paused: boolean;
}

/** The tasks of a thread. */
export type Tasks = typeof tasks;

const PRIMITIVES = { Barrier, BoundedQueue, Event, Mutex, Semaphore };

const tasks = {
  /** Calls one method of a primitive and returns what it returns. */
  call({ primitive, cells, method, args = [] }: Call): unknown {
    const opened = new PRIMITIVES[primitive](cells) as unknown as Record<string, Method>;
    return opened[method]?.(...args);
  },

  /** Adds one to a counter in two steps, which only the lock makes atomic. */
  countUnderLock({ cells, counter, rounds }: Shared & { counter: Int32Array }): void {
    const mutex = new Mutex(cells);
    for (let round = 0; round < rounds; round += 1) {
      mutex.lock();
      Atomics.store(counter, 0, Atomics.load(counter, 0) + 1);
      mutex.unlock();
    }
  },

  /** Returns the largest number of threads that it found with a permit, itself included. */
  runWithPermit({ cells, inside, rounds }: Shared & { inside: Int32Array }): number {
    const semaphore = new Semaphore(cells);
    let peak = 0;
    for (let round = 0; round < rounds; round += 1) {
      semaphore.acquire();
      peak = Math.max(peak, Atomics.add(inside, 0, 1) + 1);
      Atomics.sub(inside, 0, 1);
      semaphore.release();
    }
    return peak;
  },

  /** Meets the others after each round; returns how often one of them was in a wrong round. */
  meet({ cells, ended, index, rounds }: Shared & { ended: Int32Array; index: number }): number {
    const barrier = new Barrier(cells);
    let wrong = 0;
    for (let round = 1; round <= rounds; round += 1) {
      ended[index] = round;
      barrier.arrive();
      // A quicker thread may have ended the next round, but not the one after it, which needs this
      // thread.
      if (!ended.every((other) => other === round || other === round + 1)) wrong += 1;
    }
    return wrong;
  },

  /** Puts values into a queue and returns the depth after each. */
  produce({ cells, values }: { cells: Int32Array; values: readonly number[] }): number[] {
    const queue = new BoundedQueue(cells);
    return values.map((value) => queue.put(value));
  },

  /** Takes values from a queue up to the first sentinel and returns them. */
  consume({ cells }: { cells: Int32Array }): number[] {
    const queue = new BoundedQueue(cells);
    const values: number[] = [];
    for (let value = queue.take(); value !== END; value = queue.take()) values.push(value);
    return values;
  },
};

type Method = (...args: readonly number[]) => unknown;

/** A call of a method of a primitive. */
export interface Call {
  readonly primitive: keyof typeof PRIMITIVES;
  readonly cells: Int32Array;
  readonly method: string;
  readonly args?: readonly number[];
}

interface Shared {
  readonly cells: Int32Array;
  readonly rounds: number;
}

const OPERATIONS = [
  ...(['load', 'store', 'add', 'sub', 'exchange', 'compareExchange', 'wait', 'notify'] as const),
];
const { load, wait, add } = Atomics;
const { gate, wakes }: ThreadData = workerData;

/** How many operations the task has begun. */
let operation = 0;
let pauseBefore = Number.POSITIVE_INFINITY;
let pauses = 0;

/** Sleeps at the gate until the thread is resumed. */
function pause(): void {
  while (load(gate, 0) === pauses) wait(gate, 0, pauses);
  pauses += 1;
}

for (const name of OPERATIONS) {
  const original = Atomics[name] as (...args: unknown[]) => unknown;
  const pausing = (...args: unknown[]) => {
    operation += 1;
    if (operation > pauseBefore) {
      pauseBefore = Number.POSITIVE_INFINITY;
      pause();
    }
    const result = original(...args);
    // Shows an observer that the thread was awake between two looks.
    if (name === 'wait') add(wakes, 0, 1);
    return result;
  };
  Object.assign(Atomics, { [name]: pausing });
}

parentPort?.on('message', (job: Job) => {
  operation = 0;
  pauseBefore = job.pauseBefore;
  const value = tasks[job.task](job.input as never);
  const paused = operation > job.pauseBefore;
  parentPort?.postMessage({ value, paused } satisfies Outcome);
});
