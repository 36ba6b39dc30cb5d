// Runs the steps of two threads in every order that two interruptions can make: the first pauses
// before any one of its operations on shared memory, then the second before any one of its own, and
// both continue. No race is left to chance.
import assert from 'node:assert/strict';
import { type Check, mutant, upTo } from './check.ts';
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
  pauses: readonly number[],
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

/**
 * The consequences of a race. Whether a waker or the woken thread runs first is open, so any of
 * them may come first.
 */
const RACE = /were lost|nobody held|were inside|too deep|deep-equal|sleep for good/;

const UNLOCKED = mutant(
  'no lock',
  'openMutex(cells.subarray(QUEUE_LOCK, ROOM))',
  '{ lock() {}, unlock() {} }',
  RACE,
);

/** The checks. Their number of orders grows with the square of `rounds`, which is 1 or more. */
export const ORDER_CHECKS: readonly Check[] = [
  {
    title: 'mutex: two threads count in every order of steps',
    run: (threads, rounds) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.mutexCells());
        const input = { cells, counter: sync.sharedCells(1), rounds };
        return {
          tasks: [
            ['countUnderLock', input],
            ['countUnderLock', input],
          ],
          verify() {
            assert.ok(input.counter[0] === 2 * rounds, 'counts were lost');
            assert.deepEqual(cells, sync.mutexCells());
          },
        };
      }),
    mutants: [
      mutant(
        'a lock that looks and takes in two steps',
        'Atomics.compareExchange(cells, LOCK, FREE, HELD) === FREE',
        'Atomics.load(cells, LOCK) === FREE && Atomics.store(cells, LOCK, HELD)',
        RACE,
      ),
      mutant(
        'an unlock that wakes before it frees',
        'Atomics.exchange(cells, LOCK, FREE);',
        'Atomics.load(cells, LOCK); Atomics.notify(cells, LOCK, 1);' +
          'return void Atomics.store(cells, LOCK, FREE);',
        RACE,
      ),
    ],
  },
  {
    title: 'semaphore: two threads share permits in every order of steps',
    run: async (threads, rounds) => {
      const { sync } = threads;
      for (const permits of [1, 2]) {
        await inEveryOrder(threads, () => {
          const cells = threads.watch(sync.semaphoreCells(permits));
          const input = { cells, tally: sync.sharedCells(2), rounds, fill: 0 };
          return {
            tasks: [
              ['runWithPermit', input],
              ['runWithPermit', input],
            ],
            verify(peaks) {
              assert.ok(Math.max(...(peaks as number[])) <= permits, 'both were inside');
              assert.deepEqual(cells, sync.semaphoreCells(permits));
            },
          };
        });
      }
    },
    mutants: [
      mutant(
        'a permit that is taken in two steps',
        'Atomics.compareExchange(cells, PERMITS, permits, permits - 1) === permits',
        'Atomics.store(cells, PERMITS, permits - 1) >= 0',
        RACE,
      ),
      mutant(
        'a permit that is given back in two steps',
        'Atomics.add(cells, PERMITS, 1);',
        'Atomics.store(cells, PERMITS, Atomics.load(cells, PERMITS) + 1);',
        RACE,
      ),
      mutant(
        'a release that looks for sleepers before it gives back',
        'Atomics.add(cells, PERMITS, 1);',
        'if (Atomics.load(cells, SLEEPERS) === 0) return void Atomics.add(cells, PERMITS, 1);' +
          'Atomics.add(cells, PERMITS, 1);',
        RACE,
      ),
    ],
  },
  {
    title: 'event: a set releases the waiter in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.eventCells());
        return {
          tasks: [
            ['call', { open: 'openEvent', cells, method: 'wait' }],
            ['call', { open: 'openEvent', cells, method: 'set' }],
          ],
          verify: () => assert.ok(sync.openEvent(cells).isSet()),
        };
      }),
    mutants: [
      mutant(
        'a set that wakes before it sets',
        'if (!isSet(seen))',
        'Atomics.notify(cells, CHANGES); if (!isSet(seen)) return void',
        RACE,
      ),
    ],
  },
  {
    title: 'barrier: two threads meet in every order of steps',
    run: (threads, rounds) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.barrierCells(2));
        const input = { cells, ended: sync.sharedCells(2), rounds: rounds + 1 };
        return {
          tasks: [
            ['meet', { ...input, index: 0 }],
            ['meet', { ...input, index: 1 }],
          ],
          verify: (wrong) => assert.deepEqual(wrong, [0, 0]),
        };
      }),
    mutants: [
      mutant(
        'a generation that is read after arriving',
        'if (Atomics.add(cells, ARRIVED, 1)',
        'const before = Atomics.add(cells, ARRIVED, 1); generation = current(); if (before',
        RACE,
      ),
      mutant(
        'arrivals that are forgotten after the generation has changed',
        'Atomics.store(cells, ARRIVED, 0);',
        'end(generation, generation + 1); return void Atomics.store(cells, ARRIVED, 0);',
        RACE,
      ),
      mutant(
        'a last thread that wakes before the generation changes',
        'Atomics.compareExchange(cells, GENERATION, generation, next);',
        'Atomics.notify(cells, GENERATION);' +
          'return void Atomics.compareExchange(cells, GENERATION, generation, next);',
        RACE,
      ),
    ],
  },
  {
    title: 'barrier: both pass or both time out in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.barrierCells(2));
        return {
          tasks: [
            ['callInTime', { open: 'openBarrier', cells, method: 'arrive', args: [0] }],
            ['callInTime', { open: 'openBarrier', cells, method: 'arrive' }],
          ],
          verify: ([first, second]) => assert.deepEqual(first, second),
        };
      }),
    mutants: [
      mutant(
        'a time-out that nobody hears of',
        'end(generation, BROKEN)',
        "throw new WaitTimeout('')",
        RACE,
      ),
      mutant(
        'a meeting that is broken after it has ended',
        'Atomics.compareExchange(cells, GENERATION, generation, next)',
        'Atomics.store(cells, GENERATION, next)',
        RACE,
      ),
      mutant('a broken barrier that is mended', 'if (generation !== BROKEN)', '', RACE),
    ],
  },
  {
    title: 'queue: a put and a take in every order of steps',
    run: async (threads, rounds) => {
      const { sync } = threads;
      const values = upTo(2 * rounds - 1);
      for (const capacity of [2, 1].slice(0, rounds)) {
        await inEveryOrder(threads, () => {
          const cells = threads.watch(sync.queueCells(capacity));
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
    mutants: [UNLOCKED],
  },
  {
    title: 'queue: two puts in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.queueCells(2));
        const queue = sync.openQueue(cells);
        return {
          tasks: [
            ['produce', { cells, values: [1] }],
            ['produce', { cells, values: [2] }],
          ],
          verify(depths) {
            assert.deepEqual(new Set(depths.flat()), new Set([1, 2]));
            assert.deepEqual(new Set([queue.take(0), queue.take(0)]), new Set([1, 2]));
          },
        };
      }),
    mutants: [UNLOCKED],
  },
  {
    title: 'queue: two takes in every order of steps',
    run: (threads) =>
      inEveryOrder(threads, () => {
        const { sync } = threads;
        const cells = threads.watch(sync.queueCells(2));
        const queue = sync.openQueue(cells);
        queue.put(1);
        queue.put(2);
        return {
          tasks: [
            ['call', { open: 'openQueue', cells, method: 'take' }],
            ['call', { open: 'openQueue', cells, method: 'take' }],
          ],
          verify: (values) => assert.deepEqual(new Set(values), new Set([1, 2])),
        };
      }),
    mutants: [UNLOCKED],
  },
];
