// The primitives on real threads, ten thousand rounds of each. The first round is staged, so that a primitive which does
// not hold its threads apart, or does not wake them, fails whatever the scheduler does.
import assert from 'node:assert/strict';
import { check, slip, upTo } from './check.ts';
import type { Outcome } from './puppet.ts';
import type { Puppets } from './puppets.ts';

const ROUNDS = 10_000;
const THREADS = 4;

const valuesOf = <Value>(outcomes: readonly Outcome[]) => outcomes.map(({ value }) => value as Value);

async function countUnderLock(puppets: Puppets, rounds: number) {
  const { sync } = puppets;
  const cells = puppets.watch(sync.mutexCells());
  const counter = sync.sharedCells(1);
  puppets.start(0, 'countUnderLock', { cells, counter, rounds, pauses: true });
  await puppets.rest();
  for (const thread of upTo(THREADS).slice(1)) puppets.start(thread, 'countUnderLock', { cells, counter, rounds });
  // Now the others sleep, or have counted although the first thread has the lock and is in the middle of counting.
  await puppets.rest();
  puppets.goOn([0]);
  await puppets.end();
  assert.ok(counter[0] === THREADS * rounds, 'counts were lost');
  assert.deepEqual(cells, sync.mutexCells());
}

check(
  '10,000 counts under a mutex are 10,000',
  THREADS,
  async (puppets) => {
    await countUnderLock(puppets, 1);
    await countUnderLock(puppets, ROUNDS / THREADS);
  },
  [
    slip(
      'a lock that all may have',
      '{\n            for (let spin',
      '{ if (Atomics.store(cells, LOCK, CONTENDED)) return; for (let spin',
      /counts were lost|nobody held/,
    ),
    slip('no lock', 'openMutex(cells) {', 'openMutex(cells) { return { lock() {}, unlock() {} };', /counts were lost/),
    slip('an unlock that wakes nobody', 'Atomics.notify(cells, LOCK, 1)', '0', /sleep for good/),
    slip(
      'a sleeper that takes the lock as if it were the last',
      'while (Atomics.exchange(',
      'while (Atomics.compareExchange(cells, LOCK, FREE, HELD) !== FREE && Atomics.exchange(',
      /sleep for good/,
    ),
  ],
);

const SEMAPHORE_SLIPS = [
  slip('a release that wakes nobody', 'Atomics.notify(cells, PERMITS, 1)', '0', /sleep for good/),
  slip('sleepers that are not counted', 'Atomics.add(cells, SLEEPERS, 1)', '0', /sleep for good/),
  slip('sleepers that stay counted', 'Atomics.sub(cells, SLEEPERS, 1)', '0', /deep-equal/),
  slip('a permit too many', '[PERMITS]: permits }', '[PERMITS]: permits + 1 }', /were inside at once/),
  slip('a permit that nobody takes', 'permits, permits - 1)', 'permits, permits)', /were inside at once/),
  slip(
    'a permit that is lost',
    '[PERMITS]: permits }',
    '[PERMITS]: permits - 1 }',
    /inside at once|sleep for good|still pauses/,
  ),
];

for (const { permits, slips } of [{ permits: 1 }, { permits: 3, slips: SEMAPHORE_SLIPS }]) {
  check(
    `10,000 times a thread has a permit of ${permits}, which are had at once, never exceeded and all given back`,
    THREADS,
    async (puppets) => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.semaphoreCells(permits));
      const input = { cells, tally: sync.sharedCells(2), rounds: ROUNDS / THREADS, fill: permits };
      for (const thread of upTo(THREADS)) puppets.start(thread, 'runWithPermit', input);
      // Those that were let in stay until all others sleep, or have passed although no permit was left.
      const { paused } = await puppets.rest();
      puppets.goOn(paused);
      const most = Math.max(...valuesOf<number>(await puppets.end()));
      assert.ok(most === permits, `${most} were inside at once`);
      assert.deepEqual(cells, sync.semaphoreCells(permits));
    },
    slips,
  );
}

check(
  '10,000 times an event that is set and reset lets each of three threads pass once',
  THREADS,
  async (puppets) => {
    const { sync } = puppets;
    const events = upTo(3).map(() => sync.eventCells());
    puppets.watch(...events);
    const followers = THREADS - 1;
    const input = { events, progress: sync.sharedCells(2), rounds: ROUNDS, followers };
    puppets.start(0, 'lead', input);
    for (const thread of upTo(THREADS).slice(1)) puppets.start(thread, 'follow', input);
    // The leader sets no event before the others sleep.
    assert.deepEqual(await puppets.rest(), { ended: [], paused: [0], asleep: followers });
    puppets.goOn([0]);
    assert.deepEqual(valuesOf(await puppets.end()).slice(1), Array(followers).fill(ROUNDS));
  },
  [
    slip('a set that wakes nobody', 'Atomics.notify(cells, CHANGES)', '0', /sleep for good/),
    slip('a set that wakes one', 'notify(cells, CHANGES)', 'notify(cells, CHANGES, 1)', /sleep for good/),
    slip(
      'an event that resets itself',
      'changes() === seen',
      'Atomics.compareExchange(cells, CHANGES, seen + 1, seen) !== seen + 1',
      /sleep for good/,
    ),
    slip('a reset that does nothing', 'if (isSet(seen))', 'if (false)', /deep-equal/),
  ],
);

check(
  '10,000 times nobody goes on from a barrier before all have come to it',
  THREADS,
  async (puppets) => {
    const { sync } = puppets;
    const cells = puppets.watch(sync.barrierCells(THREADS));
    const ended = sync.sharedCells(THREADS);
    for (const index of upTo(THREADS)) {
      puppets.start(index, 'meet', { cells, ended, index, rounds: ROUNDS, pauses: index === 0 });
    }
    // The first thread does not come before the others sleep, or have gone on without it.
    const { paused } = await puppets.rest();
    puppets.goOn(paused);
    assert.deepEqual(valuesOf(await puppets.end()), Array(THREADS).fill(0));
  },
  [
    slip('a barrier that holds nobody', '{\n            const generation', '{ return; const generation', /deep-equal/),
    slip('a meeting that does not wait for the last', '+ 1 ===', '+ 2 ===', /deep-equal|sleep for good/),
    slip('a last thread that wakes nobody', 'Atomics.notify(cells, GENERATION)', '0', /sleep for good/),
    slip('a last thread that wakes one', 'notify(cells, GENERATION)', 'notify(cells, GENERATION, 1)', /sleep for good/),
    slip('arrivals that are counted on', 'Atomics.store(cells, ARRIVED, 0)', '0', /sleep for good/),
  ],
);

const QUEUE_SLIPS = [
  slip('a queue without bound', 'enter(room, limitMs)', 'mutex.lock()', /do not wait/),
  slip('room that is not given back', 'room.release()', '0', /not all was taken/),
  slip('values that nobody hears of', 'filled.release()', '0', /not all was taken/),
  slip('a value that is not taken away', '(at(HEAD) + 1)', '(at(HEAD) + 0)', /deep-equal/),
  slip('a depth that only grows', 'Atomics.sub(cells, DEPTH, 1)', '0', /deep-equal|so deep|no end|not all/),
  slip(
    'a sentinel that is swallowed',
    'put(value, limitMs = WAIT_LIMIT_MS) {',
    'put(value, limitMs = WAIT_LIMIT_MS) { if (value === END) return;',
    /no end/,
  ),
];

const STACK = slip(
  'a stack',
  'slots[at(HEAD)] ?? END;\n            Atomics.store(cells, HEAD, (at(HEAD) + 1) % slots.length)',
  'slots[at(DEPTH) - 1]',
  /out of order/,
);

for (const { producers, consumers, capacity, slips } of [
  { producers: 1, consumers: 1, capacity: 1 },
  { producers: 1, consumers: 1, capacity: 16, slips: [STACK] },
  { producers: 2, consumers: 2, capacity: 1 },
  { producers: 2, consumers: 2, capacity: 7, slips: QUEUE_SLIPS },
]) {
  check(
    `10,000 values go through a queue for ${capacity} once and in order, from ${producers} to ${consumers} threads`,
    producers + consumers,
    async (puppets) => {
      const { sync } = puppets;
      const cells = puppets.watch(sync.queueCells(capacity));
      const share = ROUNDS / producers;
      const threads = upTo(producers + consumers);
      for (const thread of threads.slice(0, producers)) {
        puppets.start(thread, 'produce', { cells, values: upTo(share).map((place) => thread * share + place) });
      }
      for (const thread of threads.slice(producers)) puppets.start(thread, 'consume', { cells, pauses: true });
      // Nothing is taken before the queue is full and the producers sleep.
      const { paused, asleep } = await puppets.rest();
      assert.ok(asleep === producers, 'the producers do not wait');
      puppets.goOn(paused);
      // When all has been taken, the consumers sleep, and each ends by a sentinel of its own.
      for (let left = consumers; left > 0; left -= 1) {
        assert.ok((await puppets.rest()).asleep === left, left === consumers ? 'not all was taken' : 'no end');
        sync.openQueue(cells).put(sync.END, 0);
      }
      const values = valuesOf<number[]>(await puppets.end());
      const depths = values.slice(0, producers).flat();
      const taken = values.slice(producers);

      assert.ok(Math.max(...depths) === capacity, 'it was not so deep');
      assert.deepEqual(
        taken.flat().sort((one, other) => one - other),
        upTo(ROUNDS),
      );
      for (const producer of upTo(producers)) {
        const ofProducer = (value: number) => Math.floor(value / share) === producer;
        for (const each of taken) assert.ok(isRising(each.filter(ofProducer)), 'out of order');
      }
      // The values that are left over stay in their slots, wherever the head is.
      assert.deepEqual(cells.subarray(1, -capacity), sync.queueCells(capacity).subarray(1, -capacity));
    },
    slips,
  );
}

function isRising(values: readonly number[]): boolean {
  return values.every((value, place) => place === 0 || value > (values[place - 1] ?? 0));
}
