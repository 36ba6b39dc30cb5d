// The batcher with batches that the test holds and ends, so that the test decides what each batch
// contains.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BATCH_LIMITS,
  BacklogLimit,
  Batcher,
  QueueFull,
} from '../../src/storage/batches/batcher.ts';
import { DatabaseUnavailable } from '../../src/storage/database.ts';
import { until } from '../support/until.ts';

type Outcomes = readonly string[];

/** A running batch: its items, and functions that end it. */
interface HeldBatch {
  readonly items: readonly string[];
  succeed(outcomes?: Outcomes): void;
  fail(error: Error): void;
}

/**
 * Returns a batcher whose batches run until the test ends them. The size of an item is its length.
 */
function heldBatcher(limits: Partial<typeof BATCH_LIMITS> = {}) {
  const batches: HeldBatch[] = [];
  const batcher = new Batcher<string, string>({
    run: (items) =>
      new Promise<Outcomes>((resolve, reject) => {
        batches.push({
          items,
          succeed: (outcomes = items.map(done)) => resolve(outcomes),
          fail: reject,
        });
      }),
    size: (item) => item.length,
    limits: { ...BATCH_LIMITS, pauseTurns: 0, ...limits },
  });

  /** Resolves with the running batch once `count` have started. */
  async function batch(count: number): Promise<HeldBatch> {
    await until(() => batches.length >= count);
    assert.equal(batches.length, count, 'more than one batch is running');
    return batches[count - 1] ?? assert.fail();
  }

  /**
   * Lets every batch succeed until all of `answers` have settled; returns the items of each batch.
   */
  async function runAll(answers: readonly Promise<unknown>[]): Promise<(readonly string[])[]> {
    let settled = false;
    const all = Promise.allSettled(answers).then(() => {
      settled = true;
    });
    await until(() => {
      for (const each of batches) each.succeed();
      return settled;
    });
    await all;
    return batches.map(({ items }) => items);
  }

  const submit = (item: string) => batcher.submit(item);

  return { submit, batch, runAll };
}

const done = (item: string) => `${item} done`;

test('batcher: items that arrive before the engine is ready join', async () => {
  const batches: (readonly string[])[] = [];
  let makeReady = () => {};
  const ready = () =>
    new Promise<void>((resolve) => {
      makeReady = resolve;
    });
  const batcher = new Batcher<string, string>({
    ready,
    run: async (items) => {
      batches.push(items);
      return items.map(done);
    },
  });
  const first = batcher.submit('a');
  await nextTurn();
  await nextTurn();
  const second = batcher.submit('b');
  assert.deepEqual(batches, []);
  makeReady();
  assert.deepEqual(await Promise.all([first, second]), ['a done', 'b done']);
  assert.deepEqual(batches, [['a', 'b']]);
});

test('batcher: an idle one starts at once, without a timer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const batcher = new Batcher<string, string>({ run: async (items) => items.map(done) });
  assert.equal(await batcher.submit('a'), 'a done');
  assert.equal(await batcher.submit('b'), 'b done');
});

test('batcher: the number of items is limited', async () => {
  const { submit, runAll } = heldBatcher({ batchItems: 3 });
  const answers = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((item) => submit(item));
  assert.deepEqual(await runAll(answers), [['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
});

for (const { name, sizes, batches } of [
  { name: 'up to the limit exactly', sizes: [4, 6, 1], batches: [[4, 6], [1]] },
  { name: 'a small item overtakes one without room', sizes: [4, 7, 1], batches: [[4, 1], [7]] },
  { name: 'the oldest always goes', sizes: [4, 7, 4, 7, 6], batches: [[4, 4], [7], [7], [6]] },
  { name: 'a larger item goes alone', sizes: [50, 1, 50], batches: [[50], [1], [50]] },
]) {
  test(`batcher: the size is limited, ${name}`, async () => {
    const { submit, runAll } = heldBatcher({ batchSize: 10 });
    const carried = await runAll(sizes.map((size) => submit('x'.repeat(size))));
    assert.deepEqual(
      carried.map((items) => items.map(({ length }) => length)),
      batches,
    );
  });
}

test('batcher: items that have waited too long are refused, and the others served', async (t) => {
  const clock = { ms: 1_000 };
  t.mock.method(performance, 'now', () => clock.ms);
  const { submit, batch, runAll } = heldBatcher({ batchItems: 2, lateMs: 100, queueSize: 4 });
  const underWay = submit('a');
  const held = await batch(1);
  const late = ['b', 'c', 'd'].map((item) => assert.rejects(submit(item), QueueFull));
  clock.ms += 1;
  const inTime = submit('e');
  clock.ms += 100;
  held.succeed();
  await Promise.all(late);
  const last = ['f', 'g', 'h', 'i'].map((item) => submit(item));
  await runAll([underWay, inTime, ...last]);
  assert.deepEqual(await Promise.all([inTime, ...last]), [...'efghi'].map(done));
});

for (const [name, limits] of [
  ['items', { queueItems: 3 }],
  ['characters', { queueSize: 3 }],
] as const) {
  test(`batcher: a queue full of ${name} refuses more and keeps the rest`, async () => {
    const { submit, batch, runAll } = heldBatcher({ ...limits, batchItems: 2 });
    const underWay = submit('a');
    const held = await batch(1);
    const waiting = ['b', 'c', 'd'].map((item) => submit(item));
    await assert.rejects(submit('e'), QueueFull);
    held.succeed();
    const answers = [underWay, ...waiting];
    await runAll(answers);
    assert.deepEqual(await Promise.all(answers), ['a done', 'b done', 'c done', 'd done']);

    const later = submit('f');
    await runAll([later]);
    assert.equal(await later, 'f done');
  });
}

/**
 * A queue of more than two items is too long, except for a burst of three. The test sets the clock.
 */
function startLimit(t: TestContext, limits: Partial<typeof BATCH_LIMITS>) {
  const clock = { ms: 1_000 };
  t.mock.method(performance, 'now', () => clock.ms);
  const limit = new BacklogLimit({
    ...BATCH_LIMITS,
    ...{ guaranteedItems: 2, waitMs: 0, waitBatches: 0, burstItems: 3, burstItemMs: 1 },
    ...limits,
  });
  /** Returns how many of `count` items may join a queue of this length. */
  const fill = (count: number, length = 0) => {
    let admitted = 0;
    for (let item = 0; item < count; item += 1)
      if (limit.admit(length + admitted, 0, 0)) admitted += 1;
    return admitted;
  };
  /** Runs a batch of `items` for `ms`. */
  const run = (items: number, ms: number) => {
    const since = clock.ms;
    clock.ms += ms;
    limit.recordBatch(since, items);
  };
  return { clock, fill, run };
}

test('backlog: a burst is admitted, and again later, but not a larger one', (t) => {
  const { clock, fill } = startLimit(t, {});
  assert.equal(fill(100), 2 + 3);
  // A short queue is never refused, and refused items do not change the allowance.
  assert.equal(fill(100), 2);
  clock.ms += 1;
  assert.equal(fill(100), 2 + 1);
  clock.ms += 1_000;
  assert.equal(fill(100), 2 + 3);
});

test('backlog: a queue that stays long is not a burst', (t) => {
  const { clock, fill } = startLimit(t, {});
  assert.equal(fill(100), 2 + 3);
  clock.ms += 1_000;
  assert.equal(fill(100, 5), 0);
});

for (const { name, limits, batches, count, admitted } of [
  {
    name: 'a slow queue admits fewer items',
    limits: { waitMs: 1 },
    batches: [[1, 2]],
    ...{ count: 3, admitted: 2 },
  },
  {
    name: 'a fast queue is never too long',
    limits: { waitMs: 400 },
    batches: [[1, 1]],
    ...{ count: 500, admitted: 500 },
  },
  {
    name: 'a long batch is not slow if it is large',
    limits: { waitMs: 2_000, guaranteedItems: 512 },
    batches: [[500, 20]],
    ...{ count: 2_000, admitted: 2_000 },
  },
  {
    name: 'the next two batches may wait, however slow they are',
    limits: { waitMs: 1, waitBatches: 2, guaranteedItems: 100 },
    batches: Array(50).fill([100, 5]),
    ...{ count: 300, admitted: 200 },
  },
]) {
  test(`backlog: ${name}, even after idling`, (t) => {
    const { clock, fill, run } = startLimit(t, { burstItems: 0, ...limits });
    for (const [items = 0, ms = 0] of batches) run(items, ms);
    clock.ms += 1_000_000;
    assert.ok(Math.abs(fill(count) - admitted) <= 1);
  });
}

for (const [name, pauseTurns, next] of [
  ['on another core starts its next batch at once', 0, ['c']],
  ['on the event loop waits for callers just answered', 4, ['c', 'd']],
] as const) {
  test(`batcher: an engine ${name}`, async () => {
    const { submit, batch, runAll } = heldBatcher({ pauseTurns });
    const answers = ['a', 'b'].map((item) => submit(item));
    const { items, succeed } = await batch(1);
    assert.deepEqual(items, ['a', 'b']);
    const third = submit('c');
    succeed();
    await Promise.all(answers);
    await nextTurn();
    const fourth = submit('d');
    assert.deepEqual((await batch(2)).items, next);
    await runAll([third, fourth]);
    assert.deepEqual(await Promise.all([third, fourth]), ['c done', 'd done']);
  });
}

test('batcher: a failed batch is retried item by item', async () => {
  const { submit, batch, runAll } = heldBatcher({ queueSize: 3 });
  const answers = Promise.allSettled(['a', 'b', 'c'].map((item) => submit(item)));
  const together = await batch(1);
  const later = ['d', 'e'].map((item) => submit(item));
  together.fail(new Error('one of them'));
  const culprit = new Error('b alone');
  for (const [index, item] of ['a', 'b', 'c'].entries()) {
    const { items, succeed, fail } = await batch(index + 2);
    assert.deepEqual(items, [item]);
    if (item === 'b') fail(culprit);
    else succeed();
  }
  assert.deepEqual(await answers, [
    { status: 'fulfilled', value: 'a done' },
    { status: 'rejected', reason: culprit },
    { status: 'fulfilled', value: 'c done' },
  ]);
  const next = await batch(5);
  assert.deepEqual(next.items, ['d', 'e']);
  next.succeed();
  assert.deepEqual(await Promise.all(later), ['d done', 'e done']);

  // The queue has as much room as before, and no more.
  const full = ['f', 'g', 'h'].map((item) => submit(item));
  await assert.rejects(submit('i'), QueueFull);
  await runAll(full);
});

test('batcher: unavailable during a retry fails the other items', async () => {
  const { submit, batch } = heldBatcher({ queueSize: 3 });
  const answers = ['a', 'b', 'c'].map((item) => submit(item));
  const outcomes = Promise.allSettled(answers);
  (await batch(1)).fail(new Error('one of them'));
  (await batch(2)).succeed();
  assert.equal(await answers[0], 'a done');
  const reason = new DatabaseUnavailable('busy');
  (await batch(3)).fail(reason);
  assert.deepEqual((await outcomes).slice(1), Array(2).fill({ status: 'rejected', reason }));

  const later = ['d', 'e', 'f'].map((item) => submit(item));
  const next = await batch(4);
  assert.deepEqual(next.items, ['d', 'e', 'f']);
  next.succeed();
  assert.deepEqual(await Promise.all(later), ['d done', 'e done', 'f done']);
});

test('batcher: unavailable fails the whole queue, not later items', async () => {
  const { submit, batch } = heldBatcher({ batchItems: 1, queueSize: 3 });
  const failing = Promise.allSettled(['a', 'b', 'c'].map((item) => submit(item)));
  const reason = new DatabaseUnavailable('busy');
  (await batch(1)).fail(reason);
  assert.deepEqual(await failing, Array(3).fill({ status: 'rejected', reason }));
  const later = ['d', 'e', 'f'].map((item) => submit(item));
  for (const count of [2, 3, 4]) (await batch(count)).succeed();
  assert.deepEqual(await Promise.all(later), ['d done', 'e done', 'f done']);
});

test('batcher: items that fail their check are left out', async () => {
  const batches: (readonly string[])[] = [];
  const refused = new Error('refused');
  const batcher = new Batcher<string, string>({
    async run(items) {
      batches.push(items);
      return items.map(done);
    },
    check(item) {
      if (item.startsWith('bad')) throw refused;
    },
  });
  const first = ['bad 1', 'good 1', 'bad 2', 'good 2'].map((item) => batcher.submit(item));
  const settled = await Promise.allSettled(first);
  assert.deepEqual(
    settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason)),
    [refused, done('good 1'), refused, done('good 2')],
  );
  await assert.rejects(batcher.submit('bad 3'), refused);
  assert.equal(await batcher.submit('good 3'), done('good 3'));
  assert.deepEqual(batches, [['good 1', 'good 2'], ['good 3']]);
});
