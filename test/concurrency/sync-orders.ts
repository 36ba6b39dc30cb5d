// Runs the steps of two threads in every order that two interruptions can make: the first pauses
// before any one of its operations on shared memory, then the second before any one of its own, and
// both continue. No race is left to chance.
import assert from 'node:assert/strict';
import * as sync from '../../src/concurrency/sync.ts';
import type { Check } from './check.ts';
import type { Outcome, Tasks } from './test-thread.ts';
import type { TestThreads } from './test-threads.ts';

/** A task for each of two threads. */
type Pair = readonly [Part, Part];
type Part = {
  readonly [Name in keyof Tasks]: readonly [Name, Parameters<Tasks[Name]>[0]];
}[keyof Tasks];

/** The tasks of one order, and what must hold in the end. */
interface Prepared {
  readonly tasks: Pair;
  readonly verify: (values: readonly unknown[]) => void;
}

/** Runs the tasks that `prepare` makes in every order. */
async function inEveryOrder(threads: TestThreads, prepare: () => Prepared): Promise<void> {
  for (let first = 0, firstPauses = true; firstPauses; first += 1) {
    for (let second = 0, secondPauses = true; secondPauses; second += 1) {
      const { tasks, verify } = prepare();
      const outcomes = await runPausing(threads, tasks, [first, second]);
      verify(outcomes.map(({ value }) => value));
      [firstPauses, secondPauses] = outcomes.map(({ paused }) => paused) as [boolean, boolean];
    }
  }
}

async function runPausing(
  threads: TestThreads,
  tasks: Pair,
  pauses: readonly [number, number],
): Promise<readonly Outcome[]> {
  for (const [thread, [task, input]] of tasks.entries()) {
    threads.start(thread, task, input, pauses[thread]);
    await threads.settle();
  }
  // A thread that slept may come to its pause only now.
  for (
    let { paused } = await threads.settle();
    paused.length > 0;
    { paused } = await threads.settle()
  ) {
    threads.resume(paused.slice(0, 1));
  }
  return threads.end();
}

/** The checks. Their number of orders grows with the square of `rounds`, which is 1 or more. */
export const ORDER_CHECKS: readonly Check[] = [
  {
    title: 'mutex: two threads count in every order of steps',
    run: (threads, rounds) =>
      inEveryOrder(threads, () => {
        const cells = threads.watch(sync.Mutex.cells());
        const count = ['countUnderLock', { cells, counter: sync.sharedCells(1), rounds }] as const;
        return {
          tasks: [count, count],
          verify() {
            assert.ok(count[1].counter[0] === 2 * rounds, 'counts were lost');
            assert.deepEqual(cells, sync.Mutex.cells());
          },
        };
      }),
  },
  {
    title: 'semaphore: two threads share permits in every order of steps',
    run: async (threads, rounds) => {
      for (const permits of [1, 2]) {
        await inEveryOrder(threads, () => {
          const cells = threads.watch(sync.Semaphore.cells(permits));
          const share = ['runWithPermit', { cells, inside: sync.sharedCells(1), rounds }] as const;
          return {
            tasks: [share, share],
            verify(peaks) {
              assert.ok(Math.max(...(peaks as number[])) <= permits, 'both were inside');
              assert.deepEqual(cells, sync.Semaphore.cells(permits));
            },
          };
        });
      }
    },
  },
  {
    title: 'event: a set releases the waiter in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const cells = threads.watch(sync.Event.cells());
        return {
          tasks: [
            ['call', { primitive: 'Event', cells, method: 'wait' }],
            ['call', { primitive: 'Event', cells, method: 'set' }],
          ],
          verify: () => assert.ok(new sync.Event(cells).isSet()),
        };
      }),
  },
  {
    title: 'barrier: two threads meet in every order of steps',
    run: (threads, rounds) =>
      inEveryOrder(threads, () => {
        const cells = threads.watch(sync.Barrier.cells(2));
        const input = { cells, ended: sync.sharedCells(2), rounds: rounds + 1 };
        return {
          tasks: [
            ['meet', { ...input, index: 0 }],
            ['meet', { ...input, index: 1 }],
          ],
          verify: (wrong) => assert.deepEqual(wrong, [0, 0]),
        };
      }),
  },
  {
    title: 'queue: a put and a take in every order of steps',
    run: async (threads, rounds) => {
      const values = [...Array(2 * rounds - 1).keys()];
      for (const capacity of [2, 1].slice(0, rounds)) {
        await inEveryOrder(threads, () => {
          const cells = threads.watch(sync.BoundedQueue.cells(capacity));
          return {
            tasks: [
              ['produce', { cells, values: [...values, sync.END] }],
              ['consume', { cells }],
            ],
            verify([depths, taken]) {
              assert.deepEqual(taken, values);
              assert.ok(Math.max(...(depths as number[])) <= capacity, 'too deep');
            },
          };
        });
      }
    },
  },
  {
    title: 'queue: two puts in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const cells = threads.watch(sync.BoundedQueue.cells(2));
        const queue = new sync.BoundedQueue(cells);
        return {
          tasks: [
            ['produce', { cells, values: [1] }],
            ['produce', { cells, values: [2] }],
          ],
          verify(depths) {
            assert.deepEqual(new Set(depths.flat()), new Set([1, 2]));
            assert.deepEqual(new Set([queue.take(), queue.take()]), new Set([1, 2]));
          },
        };
      }),
  },
  {
    title: 'queue: two takes in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const cells = threads.watch(sync.BoundedQueue.cells(2));
        const queue = new sync.BoundedQueue(cells);
        queue.put(1);
        queue.put(2);
        const take = ['call', { primitive: 'BoundedQueue', cells, method: 'take' }] as const;
        return {
          tasks: [take, take],
          verify: (values) => assert.deepEqual(new Set(values), new Set([1, 2])),
        };
      }),
  },
];
