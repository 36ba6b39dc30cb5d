// Runs the steps of two threads in every order that two interruptions can make: the first pauses
// before any one of its operations on shared memory, then the second before any one of its own, and
// both continue. No race is left to chance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as sync from '../../src/concurrency/sync.ts';
import type { Outcome, Tasks } from './test-thread.ts';
import type { TestThreads } from './test-threads.ts';

/** A task for each of two threads. */
type Pair = readonly [Part, Part];
type Part = {
  readonly [Name in keyof Tasks]: readonly [Name, Parameters<Tasks[Name]>[0]];
}[keyof Tasks];

/** The tasks of one order on these cells, and what must hold in the end. */
interface Prepared {
  readonly cells: Int32Array;
  readonly tasks: Pair;
  readonly verify: (values: readonly unknown[]) => void;
}

/** Runs the tasks that `prepare` makes in every order. */
function inEveryOrder(threads: TestThreads, what: string, prepare: () => Prepared): void {
  test(`${what} in every order of steps`, async () => {
    for (let first = 0, firstPauses = true; firstPauses; first += 1) {
      for (let second = 0, secondPauses = true; secondPauses; second += 1) {
        const { cells, tasks, verify } = prepare();
        threads.watch(cells);
        const outcomes = await runPausing(threads, tasks, [first, second]);
        verify(outcomes.map(({ value }) => value));
        [firstPauses, secondPauses] = outcomes.map(({ paused }) => paused) as [boolean, boolean];
      }
    }
  });
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
  for (;;) {
    // A thread that slept may come to its pause only now.
    const [paused] = (await threads.settle()).paused;
    if (paused === undefined) return threads.end();
    threads.resume(paused);
  }
}

/** Tests the primitives. The number of orders grows with the square of `rounds`, 1 or more. */
export function testPrimitives(threads: TestThreads, rounds: number): void {
  const testOrders = inEveryOrder.bind(undefined, threads);

  testOrders('mutex: two threads count', () => {
    const cells = sync.Mutex.cells();
    const count = ['countUnderLock', { cells, counter: sync.sharedCells(1), rounds }] as const;
    return {
      cells,
      tasks: [count, count],
      verify() {
        assert.equal(count[1].counter[0], 2 * rounds, 'counts were lost');
        assert.deepEqual(cells, sync.Mutex.cells());
      },
    };
  });

  for (const permits of [1, 2])
    testOrders(`semaphore: two threads share permits (${permits})`, () => {
      const cells = sync.Semaphore.cells(permits);
      const share = ['runWithPermit', { cells, inside: sync.sharedCells(1), rounds }] as const;
      return {
        cells,
        tasks: [share, share],
        verify(peaks) {
          assert.ok(Math.max(...(peaks as number[])) <= permits, 'both were inside');
          assert.deepEqual(cells, sync.Semaphore.cells(permits));
        },
      };
    });

  testOrders('event: a set releases the waiter', () => {
    const cells = sync.Event.cells();
    return {
      cells,
      tasks: [
        ['call', { primitive: 'Event', cells, method: 'wait' }],
        ['call', { primitive: 'Event', cells, method: 'set' }],
      ],
      verify: () => assert.ok(new sync.Event(cells).isSet()),
    };
  });

  testOrders('barrier: two threads meet', () => {
    const cells = sync.Barrier.cells(2);
    const input = { cells, ended: sync.sharedCells(2), rounds: rounds + 1 };
    return {
      cells,
      tasks: [
        ['meet', { ...input, index: 0 }],
        ['meet', { ...input, index: 1 }],
      ],
      verify: (wrong) => assert.deepEqual(wrong, [0, 0]),
    };
  });

  const values = [...Array(2 * rounds - 1).keys()];
  for (const capacity of [2, 1].slice(0, rounds))
    testOrders(`queue: puts and takes (${capacity})`, () => {
      const cells = sync.BoundedQueue.cells(capacity);
      return {
        cells,
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

  testOrders('queue: two puts', () => {
    const cells = sync.BoundedQueue.cells(2);
    const queue = new sync.BoundedQueue(cells);
    return {
      cells,
      tasks: [
        ['produce', { cells, values: [1] }],
        ['produce', { cells, values: [2] }],
      ],
      verify(depths) {
        assert.deepEqual(new Set(depths.flat()), new Set([1, 2]));
        assert.deepEqual(new Set([queue.take(), queue.take()]), new Set([1, 2]));
      },
    };
  });

  testOrders('queue: two takes', () => {
    const cells = sync.BoundedQueue.cells(2);
    const queue = new sync.BoundedQueue(cells);
    queue.put(1);
    queue.put(2);
    const take = ['call', { primitive: 'BoundedQueue', cells, method: 'take' }] as const;
    return {
      cells,
      tasks: [take, take],
      verify: (taken) => assert.deepEqual(new Set(taken), new Set([1, 2])),
    };
  });
}
