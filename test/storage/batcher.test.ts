// The batcher with batches that the test holds and ends, so that the test decides what each batch
// contains.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BATCH_LIMITS } from '../../src/storage/batches/backlog-limit.ts';
import { Batcher, QueueFull } from '../../src/storage/batches/batcher.ts';
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

  /** Submits items together and lets every batch succeed; returns how many items succeeded. */
  async function admitted(count: number): Promise<number> {
    const answers = Promise.allSettled(Array.from({ length: count }, () => submit('a')));
    await runAll([answers]);
    return (await answers).filter(({ status }) => status === 'fulfilled').length;
  }

  return { submit, batch, runAll, admitted };
}

/** Resolves when `ms` have passed. */
function elapse(ms: number): Promise<void> {
  const started = performance.now();
  return until(() => performance.now() - started > ms);
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

test('batcher: items that arrive during a batch form the next one', async () => {
  const { submit, batch } = heldBatcher();
  const first = submit('a');
  const { items, succeed } = await batch(1);
  assert.deepEqual(items, ['a']);

  const others = ['b', 'c', 'd', 'e'].map((item) => submit(item));
  await nextTurn();
  await batch(1);
  succeed();
  assert.equal(await first, 'a done');

  const second = await batch(2);
  assert.deepEqual(second.items, ['b', 'c', 'd', 'e']);
  second.succeed();
  assert.deepEqual(await Promise.all(others), ['b done', 'c done', 'd done', 'e done']);
});

test('batcher: an idle one starts at once, without a timer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const batcher = new Batcher<string, string>({ run: async (items) => items.map(done) });
  assert.equal(await batcher.submit('a'), 'a done');
  assert.equal(await batcher.submit('b'), 'b done');
});

test('batcher: calls of one turn of the event loop share a batch', async () => {
  const { submit, runAll } = heldBatcher();
  assert.deepEqual(await runAll(['a', 'b', 'c'].map((item) => submit(item))), [['a', 'b', 'c']]);
});

test('batcher: the number of items is limited', async () => {
  const { submit, runAll } = heldBatcher({ batchItems: 3 });
  const answers = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((item) => submit(item));
  assert.deepEqual(await runAll(answers), [['a', 'b', 'c'], ['d', 'e', 'f'], ['g']]);
});

for (const { name, sizes, batches } of [
  { name: 'up to the limit exactly', sizes: [4, 6, 1], batches: [[4, 6], [1]] },
  { name: 'without the item that would exceed it', sizes: [4, 7, 1], batches: [[4], [7, 1]] },
  { name: 'a larger item goes alone', sizes: [1, 50, 1], batches: [[1], [50], [1]] },
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

/** Limits under which a queue of more than two is too long, except for a burst of three. */
const BUSY = {
  ...{ batchItems: 8, guaranteedItems: 2, waitMs: 0, waitBatches: 0 },
  ...{ burstItems: 3, burstItemMs: Number.POSITIVE_INFINITY },
};

test('batcher: a burst is admitted, more is refused', async () => {
  const { submit, runAll } = heldBatcher(BUSY);
  const fill = (count: number) =>
    Array.from({ length: count }, (_, index) => submit(String(index)));
  const [first, second] = [fill(2 + 3), fill(2)];
  await Promise.all(second.map((each) => assert.rejects(each, QueueFull)));
  await runAll(first);
  // The allowance for bursts is used up, but a short queue is never refused.
  const [third, fourth] = [fill(2), fill(1)];
  await Promise.all(fourth.map((each) => assert.rejects(each, QueueFull)));
  await runAll(third);
  assert.equal((await Promise.all([...first, ...third])).length, 7);
});

test('batcher: bursts are admitted again later, and not larger ones', async () => {
  const { admitted } = heldBatcher({ ...BUSY, burstItemMs: 0.001 });
  for (let round = 0; round < 3; round += 1) assert.equal(await admitted(2 + 3), 2 + 3);
  assert.equal(await heldBatcher(BUSY).admitted(2 + 4), 2 + 3);
});

test('batcher: refused items do not change the burst allowance', async () => {
  const { submit, runAll, admitted } = heldBatcher({ ...BUSY, burstItemMs: 2 });
  const started = performance.now();
  const answers = Promise.allSettled(Array.from({ length: 2 + 3 + 2_000 }, () => submit('a')));
  const most = 2 + 3 + (performance.now() - started) / 2;
  await runAll([answers]);
  const taken = (await answers).filter(({ status }) => status === 'fulfilled').length;
  assert.ok(taken >= 5 && taken <= most + 1, `${taken} of ${most}`);

  await elapse(10);
  assert.equal(await admitted(2 + 3), 2 + 3);
});

test('batcher: a queue that stays long is not a burst', async () => {
  const { submit, batch, runAll } = heldBatcher({ ...BUSY, burstItemMs: 0.001 });
  const underWay = submit('a');
  await batch(1);
  const taken = [underWay, ...Array.from({ length: 2 + 3 }, () => submit('a'))];
  await elapse(2);
  await assert.rejects(submit('a'), QueueFull);
  await runAll(taken);
  assert.equal((await Promise.all(taken)).length, 6);
});

test('batcher: a slow queue admits fewer items', async () => {
  const { submit, batch, runAll } = heldBatcher({ ...BUSY, burstItems: 0, waitMs: 1 });
  const first = submit('a');
  const { succeed } = await batch(1);
  await elapse(2);
  succeed();
  await first;
  const answers = Promise.allSettled(['b', 'c', 'd'].map((item) => submit(item)));
  await runAll([answers]);
  assert.deepEqual(
    (await answers).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});

test('batcher: a fast queue is never too long, even after idling', async () => {
  const { admitted } = heldBatcher({ ...BUSY, burstItems: 0, waitMs: 400 });
  await until(() => performance.now() > 500);
  assert.equal(await admitted(1), 1);
  assert.equal(await admitted(5), 5);
});

test('batcher: a long batch is not slow if it is large', async () => {
  const limits = { ...BUSY, batchItems: 512, guaranteedItems: 512, burstItems: 0, waitMs: 2_000 };
  const { submit, batch, admitted } = heldBatcher(limits);
  const large = Array.from({ length: 500 }, () => submit('a'));
  const { items, succeed } = await batch(1);
  assert.equal(items.length, 500);
  await elapse(20);
  succeed();
  await Promise.all(large);
  // More than are admitted in any case, at 20 ms / 500 each.
  assert.equal(await admitted(520), 520);
});

test('batcher: the next two batches may wait, however slow they are', async () => {
  const limits = { waitMs: 1, waitBatches: 2, batchItems: 100, guaranteedItems: 100 };
  const { submit, batch, admitted } = heldBatcher({ ...BUSY, burstItems: 0, ...limits });
  for (let number = 1; number <= 20; number += 1) {
    const answers = Array.from({ length: 100 }, () => submit('a'));
    const { succeed } = await batch(number);
    await elapse(5);
    succeed();
    await Promise.all(answers);
  }
  const taken = await admitted(300);
  assert.ok(taken >= 195 && taken <= 205, `${taken}`);
});

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
