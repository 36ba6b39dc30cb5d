// Runs many rounds of each primitive on real threads. The first round is staged: a primitive that
// does not exclude threads, or does not wake them, fails whatever the scheduler does.
import assert from 'node:assert/strict';
import { type Check, type Mutant, mutant, MAX_THREADS as THREADS, upTo } from './check.ts';
import type { Outcome } from './test-thread.ts';
import type { TestThreads } from './test-threads.ts';

const valuesOf = <Value>(outcomes: readonly Outcome[]) =>
  outcomes.map(({ value }) => value as Value);

async function countUnderLock(threads: TestThreads, rounds: number) {
  const { sync } = threads;
  const cells = threads.watch(sync.mutexCells());
  const counter = sync.sharedCells(1);
  threads.start(0, 'countUnderLock', { cells, counter, rounds, pauses: true });
  await threads.settle();
  for (const thread of upTo(THREADS).slice(1))
    threads.start(thread, 'countUnderLock', { cells, counter, rounds });
  // The others sleep now, or have counted although the first thread holds the lock.
  await threads.settle();
  threads.resume([0]);
  await threads.end();
  assert.ok(counter[0] === THREADS * rounds, 'counts were lost');
  assert.deepEqual(cells, sync.mutexCells());
}

const MUTEX: Check = {
  title: 'mutex: no count is lost',
  async run(threads, rounds) {
    await countUnderLock(threads, 1);
    await countUnderLock(threads, rounds / THREADS);
  },
  mutants: [
    mutant(
      'a lock that all may have',
      '{\n            for (let spin',
      '{ if (Atomics.store(cells, LOCK, CONTENDED)) return; for (let spin',
      /counts were lost|nobody held/,
    ),
    mutant(
      'no lock',
      'openMutex(cells) {',
      'openMutex(cells) { return { lock() {}, unlock() {} };',
      /counts were lost/,
    ),
    mutant('an unlock that wakes nobody', 'Atomics.notify(cells, LOCK, 1)', '0', /sleep for good/),
    mutant(
      'a sleeper that takes the lock as if it were the last',
      'while (Atomics.exchange(',
      'while (Atomics.compareExchange(cells, LOCK, FREE, HELD) !== FREE && Atomics.exchange(',
      /sleep for good/,
    ),
  ],
};

const SEMAPHORE_MUTANTS = [
  mutant('a release that wakes nobody', 'Atomics.notify(cells, PERMITS, 1)', '0', /sleep for good/),
  mutant('sleepers that are not counted', 'Atomics.add(cells, SLEEPERS, 1)', '0', /sleep for good/),
  mutant('sleepers that stay counted', 'Atomics.sub(cells, SLEEPERS, 1)', '0', /deep-equal/),
  mutant(
    'a permit too many',
    '[PERMITS]: permits }',
    '[PERMITS]: permits + 1 }',
    /were inside at once/,
  ),
  mutant(
    'a permit that nobody takes',
    'permits, permits - 1)',
    'permits, permits)',
    /were inside at once/,
  ),
  mutant(
    'a permit that is lost',
    '[PERMITS]: permits }',
    '[PERMITS]: permits - 1 }',
    /inside at once|sleep for good|still pauses/,
  ),
];

function semaphoreCheck(permits: number, mutants: readonly Mutant[]): Check {
  return {
    title: `semaphore: ${permits} of 4 threads are inside, never more`,
    async run(threads, rounds) {
      const { sync } = threads;
      const cells = threads.watch(sync.semaphoreCells(permits));
      const input = { cells, tally: sync.sharedCells(2), rounds: rounds / THREADS, fill: permits };
      for (const thread of upTo(THREADS)) threads.start(thread, 'runWithPermit', input);
      // The admitted threads stay until all others sleep, or have passed without a permit.
      const { paused } = await threads.settle();
      threads.resume(paused);
      const most = Math.max(...valuesOf<number>(await threads.end()));
      assert.ok(most === permits, `${most} were inside at once`);
      assert.deepEqual(cells, sync.semaphoreCells(permits));
    },
    mutants,
  };
}

const EVENT: Check = {
  title: 'event: a set releases each of three threads once',
  async run(threads, rounds) {
    const { sync } = threads;
    const events = upTo(3).map(() => sync.eventCells());
    threads.watch(...events);
    const followers = THREADS - 1;
    const input = { events, progress: sync.sharedCells(2), rounds, followers };
    threads.start(0, 'lead', input);
    for (const thread of upTo(THREADS).slice(1)) threads.start(thread, 'follow', input);
    // The leader sets no event before the others sleep.
    assert.deepEqual(await threads.settle(), { ended: [], paused: [0], asleep: followers });
    threads.resume([0]);
    assert.deepEqual(valuesOf(await threads.end()).slice(1), Array(followers).fill(rounds));
  },
  mutants: [
    mutant('a set that wakes nobody', 'Atomics.notify(cells, CHANGES)', '0', /sleep for good/),
    mutant(
      'a set that wakes one',
      'notify(cells, CHANGES)',
      'notify(cells, CHANGES, 1)',
      /sleep for good/,
    ),
    mutant(
      'an event that resets itself',
      'changes() === seen',
      'Atomics.compareExchange(cells, CHANGES, seen + 1, seen) !== seen + 1',
      /sleep for good/,
    ),
    mutant('a reset that does nothing', 'if (isSet(seen))', 'if (false)', /deep-equal/),
  ],
};

const BARRIER: Check = {
  title: 'barrier: no thread passes before all have arrived',
  async run(threads, rounds) {
    const { sync } = threads;
    const cells = threads.watch(sync.barrierCells(THREADS));
    const ended = sync.sharedCells(THREADS);
    for (const index of upTo(THREADS)) {
      threads.start(index, 'meet', { cells, ended, index, rounds, pauses: index === 0 });
    }
    // The first thread does not arrive before the others sleep, or have passed without it.
    const { paused } = await threads.settle();
    threads.resume(paused);
    assert.deepEqual(valuesOf(await threads.end()), Array(THREADS).fill(0));
  },
  mutants: [
    mutant(
      'a barrier that holds nobody',
      '{\n            const generation',
      '{ return; const generation',
      /deep-equal/,
    ),
    mutant(
      'a meeting that does not wait for the last',
      '+ 1 ===',
      '+ 2 ===',
      /deep-equal|sleep for good/,
    ),
    mutant(
      'a last thread that wakes nobody',
      'Atomics.notify(cells, GENERATION)',
      '0',
      /sleep for good/,
    ),
    mutant(
      'a last thread that wakes one',
      'notify(cells, GENERATION)',
      'notify(cells, GENERATION, 1)',
      /sleep for good/,
    ),
    mutant(
      'arrivals that are never reset',
      'Atomics.store(cells, ARRIVED, 0)',
      '0',
      /sleep for good/,
    ),
  ],
};

const QUEUE_MUTANTS = [
  mutant('a queue without bound', 'enter(room, limitMs)', 'mutex.lock()', /do not wait/),
  mutant('room that is not given back', 'room.release()', '0', /not all was taken/),
  mutant('values that nobody hears of', 'filled.release()', '0', /not all was taken/),
  mutant('a value that is not taken away', '(at(HEAD) + 1)', '(at(HEAD) + 0)', /deep-equal/),
  mutant(
    'a depth that only grows',
    'Atomics.sub(cells, DEPTH, 1)',
    '0',
    /deep-equal|so deep|no end|not all/,
  ),
  mutant(
    'a sentinel that is swallowed',
    'put(value, limitMs = WAIT_LIMIT_MS) {',
    'put(value, limitMs = WAIT_LIMIT_MS) { if (value === END) return;',
    /no end/,
  ),
];

const STACK = mutant(
  'a stack',
  'slots[at(HEAD)] ?? END;\n            Atomics.store(cells, HEAD, (at(HEAD) + 1) % slots.length)',
  'slots[at(DEPTH) - 1]',
  /out of order/,
);

function queueCheck(pairs: number, capacity: number, mutants: readonly Mutant[] = []): Check {
  const producers = upTo(pairs);
  const consumers = producers.map((producer) => producer + pairs);
  return {
    title: `queue: ${pairs} to ${pairs} threads through ${capacity} slots, in order`,
    async run(threads, rounds) {
      const { sync } = threads;
      const cells = threads.watch(sync.queueCells(capacity));
      const share = rounds / pairs;
      for (const producer of producers) {
        const values = upTo(share).map((place) => producer * share + place);
        threads.start(producer, 'produce', { cells, values });
      }
      for (const consumer of consumers) threads.start(consumer, 'consume', { cells, pauses: true });
      // Nothing is taken before the queue is full and the producers sleep.
      const { paused, asleep } = await threads.settle();
      assert.ok(asleep === pairs, 'the producers do not wait');
      threads.resume(paused);
      // When all values have been taken, the consumers sleep, and each ends by a sentinel of its
      // own.
      for (let left = pairs; left > 0; left -= 1) {
        assert.ok(
          (await threads.settle()).asleep === left,
          left === pairs ? 'not all was taken' : 'no end',
        );
        sync.openQueue(cells).put(sync.END, 0);
      }
      const values = valuesOf<number[]>(await threads.end());
      const depths = values.slice(0, pairs).flat();
      const taken = values.slice(pairs);

      assert.ok(Math.max(...depths) === capacity, 'it was not so deep');
      assert.deepEqual(
        taken.flat().sort((one, other) => one - other),
        upTo(rounds),
      );
      for (const producer of producers) {
        const ofProducer = (value: number) => Math.floor(value / share) === producer;
        for (const each of taken) assert.ok(isRising(each.filter(ofProducer)), 'out of order');
      }
      // The values stay in their slots, wherever the head is.
      assert.deepEqual(
        cells.subarray(1, -capacity),
        sync.queueCells(capacity).subarray(1, -capacity),
      );
    },
    mutants,
  };
}

function isRising(values: readonly number[]): boolean {
  return values.every((value, place) => place === 0 || value > (values[place - 1] ?? 0));
}

/** The checks, for a number of rounds that is a multiple of 4 and at least 40. */
export const ROUND_CHECKS: readonly Check[] = [
  ...[MUTEX, semaphoreCheck(1, []), semaphoreCheck(3, SEMAPHORE_MUTANTS), EVENT, BARRIER],
  ...[queueCheck(1, 1), queueCheck(1, 16, [STACK]), queueCheck(2, 1)],
  queueCheck(2, 7, QUEUE_MUTANTS),
];
