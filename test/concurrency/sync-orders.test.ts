// The steps of two threads in every order that two interruptions can make: the first is stopped before any one of its
// operations on shared memory, then the second before any one of its own, and both go on. No race is left to luck.
import assert from 'node:assert/strict';
import { check, slip } from './check.ts';
import type { Outcome, Tasks } from './puppet.ts';
import type { Puppets } from './puppets.ts';

/** A task for each of two threads. */
type Pair = readonly [Part, Part];
type Part = { readonly [Name in keyof Tasks]: readonly [Name, Parameters<Tasks[Name]>[0]] }[keyof Tasks];

/** Has two threads do their tasks in every order; `prepare` makes the tasks and says what must hold in the end. */
async function inEveryOrder(
  puppets: Puppets,
  prepare: () => { readonly tasks: Pair; readonly verify: (values: readonly unknown[]) => void },
): Promise<void> {
  for (let first = 0, firstStops = true; firstStops; first += 1) {
    for (let second = 0, secondStops = true; secondStops; second += 1) {
      const { tasks, verify } = prepare();
      const outcomes = await runStopping(puppets, tasks, [first, second]);
      verify(outcomes.map(({ value }) => value));
      [firstStops, secondStops] = outcomes.map(({ stopped }) => stopped) as [boolean, boolean];
    }
  }
}

async function runStopping(puppets: Puppets, tasks: Pair, stops: readonly number[]): Promise<readonly Outcome[]> {
  for (const [thread, [task, input]] of tasks.entries()) {
    puppets.start(thread, task, input, stops[thread]);
    await puppets.rest();
  }
  // A thread that slept may reach its stop only now.
  for (let { paused } = await puppets.rest(); paused.length > 0; { paused } = await puppets.rest()) {
    puppets.goOn(paused.slice(0, 1));
  }
  return puppets.end();
}

/** What a race leads to. Who is woken runs beside who woke it, so which of these comes first is open; that one does is not. */
const RACE = /were lost|nobody held|were inside|too deep|deep-equal|sleep for good/;

check(
  'two threads count under a mutex in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.mutexCells());
      const input = { cells, counter: sync.sharedCells(1), rounds: 2 };
      return {
        tasks: [
          ['countUnderLock', input],
          ['countUnderLock', input],
        ],
        verify() {
          assert.ok(input.counter[0] === 4, 'counts were lost');
          assert.deepEqual(cells, sync.mutexCells());
        },
      };
    }),
  [
    slip(
      'a lock that looks and takes in two steps',
      'Atomics.compareExchange(cells, LOCK, FREE, HELD) === FREE',
      'Atomics.load(cells, LOCK) === FREE && Atomics.store(cells, LOCK, HELD)',
      RACE,
    ),
    slip(
      'an unlock that wakes before it frees',
      'Atomics.exchange(cells, LOCK, FREE);',
      'Atomics.load(cells, LOCK); Atomics.notify(cells, LOCK, 1); return void Atomics.store(cells, LOCK, FREE);',
      RACE,
    ),
  ],
);

check(
  'two threads share one permit or two in every order of their steps',
  2,
  async (puppets) => {
    const { sync } = puppets;
    for (const permits of [1, 2]) {
      await inEveryOrder(puppets, () => {
        const cells = puppets.watch(sync.semaphoreCells(permits));
        const input = { cells, tally: sync.sharedCells(2), rounds: 2, fill: 0 };
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
  [
    slip(
      'a permit that is taken in two steps',
      'Atomics.compareExchange(cells, PERMITS, permits, permits - 1) === permits',
      'Atomics.store(cells, PERMITS, permits - 1) >= 0',
      RACE,
    ),
    slip(
      'a permit that is given back in two steps',
      'Atomics.add(cells, PERMITS, 1);',
      'Atomics.store(cells, PERMITS, Atomics.load(cells, PERMITS) + 1);',
      RACE,
    ),
    slip(
      'a release that looks for sleepers before it gives back',
      'Atomics.add(cells, PERMITS, 1);',
      'if (Atomics.load(cells, SLEEPERS) === 0) return void Atomics.add(cells, PERMITS, 1); Atomics.add(cells, PERMITS, 1);',
      RACE,
    ),
  ],
);

check(
  'an event that one thread sets lets the other pass in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.eventCells());
      return {
        tasks: [
          ['call', { open: 'openEvent', cells, method: 'wait' }],
          ['call', { open: 'openEvent', cells, method: 'set' }],
        ],
        verify: () => assert.ok(sync.openEvent(cells).isSet()),
      };
    }),
  [
    slip(
      'a set that wakes before it sets',
      'if (!isSet(seen))',
      'Atomics.notify(cells, CHANGES); if (!isSet(seen)) return void',
      RACE,
    ),
  ],
);

check(
  'two threads meet at a barrier in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.barrierCells(2));
      const input = { cells, ended: sync.sharedCells(2), rounds: 3 };
      return {
        tasks: [
          ['meet', { ...input, index: 0 }],
          ['meet', { ...input, index: 1 }],
        ],
        verify: (wrong) => assert.deepEqual(wrong, [0, 0]),
      };
    }),
  [
    slip(
      'a generation that is read after arriving',
      'if (Atomics.add(cells, ARRIVED, 1)',
      'const before = Atomics.add(cells, ARRIVED, 1); generation = current(); if (before',
      RACE,
    ),
    slip(
      'arrivals that are forgotten after the generation has changed',
      'Atomics.store(cells, ARRIVED, 0);',
      'end(generation, generation + 1); return void Atomics.store(cells, ARRIVED, 0);',
      RACE,
    ),
    slip(
      'a last thread that wakes before the generation changes',
      'Atomics.compareExchange(cells, GENERATION, generation, next);',
      'Atomics.notify(cells, GENERATION); return void Atomics.compareExchange(cells, GENERATION, generation, next);',
      RACE,
    ),
  ],
);

check(
  'two threads meet at a barrier or neither does, when the time of one is over, in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.barrierCells(2));
      return {
        tasks: [
          ['callInTime', { open: 'openBarrier', cells, method: 'arrive', args: [0] }],
          ['callInTime', { open: 'openBarrier', cells, method: 'arrive' }],
        ],
        verify: ([first, second]) => assert.deepEqual(first, second),
      };
    }),
  [
    slip('a time-out that nobody hears of', 'end(generation, BROKEN)', "throw new WaitTimeout('')", RACE),
    slip(
      'a meeting that is broken after it has ended',
      'Atomics.compareExchange(cells, GENERATION, generation, next)',
      'Atomics.store(cells, GENERATION, next)',
      RACE,
    ),
    slip('a broken barrier that is mended', 'if (generation !== BROKEN)', '', RACE),
  ],
);

const UNLOCKED = slip('no lock', 'openMutex(cells.subarray(QUEUE_LOCK, ROOM))', '{ lock() {}, unlock() {} }', RACE);

check(
  'one thread puts and another takes in every order of their steps',
  2,
  async (puppets) => {
    const { sync } = puppets;
    for (const capacity of [1, 2]) {
      await inEveryOrder(puppets, () => {
        const cells = puppets.watch(sync.queueCells(capacity));
        return {
          tasks: [
            ['produce', { cells, values: [1, 2, 3, sync.END] }],
            ['consume', { cells }],
          ],
          verify([depths, values]) {
            assert.deepEqual(values, [1, 2, 3]);
            assert.ok(Math.max(...(depths as number[])) <= capacity, 'too deep');
          },
        };
      });
    }
  },
  [UNLOCKED],
);

check(
  'two threads put in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.queueCells(2));
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
  [UNLOCKED],
);

check(
  'two threads take in every order of their steps',
  2,
  (puppets) =>
    inEveryOrder(puppets, () => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.queueCells(2));
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
  [UNLOCKED],
);
