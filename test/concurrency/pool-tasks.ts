// The tasks of the threads in the tests of the pool. They identify themselves, wait for the test,
// and fail in many ways.
import { threadId } from 'node:worker_threads';
import { sharedCells } from '../../src/concurrency/sync.ts';
import { runThread } from '../../src/concurrency/thread.ts';

const ARRIVED = 0;
const OPEN = 1;

/** Returns a closed gate, at which threads wait for the test. */
export function createGate() {
  const cells = sharedCells(2);
  return {
    /** The input of the task `wait`. */
    cells,
    /** Returns how many threads have arrived. */
    arrived: () => Atomics.load(cells, ARRIVED),
    /** Lets all threads pass, later ones too. */
    open() {
      Atomics.store(cells, OPEN, 1);
      Atomics.notify(cells, OPEN);
    },
  };
}

/** The thread that did a share of a job. */
export interface Identity {
  readonly threadId: number;
  readonly index: number;
  readonly input: unknown;
}

const identify = (input: unknown, index: number): Identity => ({ threadId, index, input });

/** Answers once the gate is open. */
function wait(cells: Int32Array, index: number): Identity {
  Atomics.add(cells, ARRIVED, 1);
  Atomics.notify(cells, ARRIVED);
  Atomics.wait(cells, OPEN, 0);
  return identify(undefined, index);
}

/** The last thread answers first: each waits for the next. */
function reverse(turn: Int32Array, index: number): Identity {
  for (let at = Atomics.load(turn, 0); at !== index; at = Atomics.load(turn, 0))
    Atomics.wait(turn, 0, at);
  const identity = identify(undefined, index);
  Atomics.sub(turn, 0, 1);
  Atomics.notify(turn, 0);
  return identity;
}

/** How a thread can fail. */
const DEEDS = {
  throw() {
    throw new Error('thrown by a thread');
  },
  exit: () => process.exit(3),
  'wait for ever': () => Atomics.wait(sharedCells(1), 0, 0),
  'run for ever'() {
    for (;;);
  },
};

/** The name of a failure. */
export type Deed = keyof typeof DEEDS;

/** The input of `fail`. */
export interface Failure {
  readonly deed: Deed;
  /** How many wait for the last at a gate that stays closed; it acts when all have arrived. */
  readonly mates: number;
  readonly cells: Int32Array;
}

function fail({ deed, mates, cells }: Failure, index: number): unknown {
  if (index < mates) return wait(cells, index);
  for (let at = Atomics.load(cells, ARRIVED); at < mates; at = Atomics.load(cells, ARRIVED)) {
    Atomics.wait(cells, ARRIVED, at);
  }
  return DEEDS[deed]();
}

const works = Object.entries({ identify, wait, reverse, fail });
const tasks = Object.fromEntries(works.map(([name, work]) => [name, { work }]));

runThread(tasks);
