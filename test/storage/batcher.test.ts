// The batcher with batches that the test holds and ends, so that the test decides what each batch
// contains.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BATCH_LIMITS, Batcher, QueueFull } from '../../src/storage/batcher.ts';
import { DatabaseUnavailable } from '../../src/storage/database.ts';
import { createGate } from '../support/bare-server.ts';
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
  const gate = createGate();
  const batcher = new Batcher<string, string>({
    ready: () => gate.passed,
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
  gate.open();
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

for (const { name, busyMs, waitedMs, guaranteedItems, served } of [
  { name: 'a burst may', busyMs: 0, waitedMs: 100, guaranteedItems: 0, served: 'bcde' },
  { name: 'too long for a burst', busyMs: 0, waitedMs: 101, guaranteedItems: 0, served: 'b' },
  { name: 'a long queue, shortly', busyMs: 100, waitedMs: 10, guaranteedItems: 0, served: 'bcde' },
  { name: 'a long queue', busyMs: 100, waitedMs: 11, guaranteedItems: 0, served: 'b' },
  { name: 'the latest may', busyMs: 100, waitedMs: 1_000, guaranteedItems: 2, served: 'bde' },
  { name: 'nobody may for ever', busyMs: 0, waitedMs: 1_001, guaranteedItems: 9, served: 'b' },
]) {
  test(`batcher: who waits for too long is refused: ${name}`, async (t) => {
    const clock = { ms: 5_000 };
    t.mock.method(performance, 'now', () => clock.ms);
    const times = { burstMs: 100, waitMs: 10, guaranteedItems, lateMs: 1_000 };
    const { submit, batch, runAll } = heldBatcher({ ...times, batchItems: 1, queueSize: 4 });
    const underWay = submit('a');
    const held = await batch(1);
    const oldest = submit('b');
    clock.ms += busyMs;
    const answers = [oldest, ...[...'cde'].map((item) => submit(item))];
    clock.ms += waitedMs;
    held.succeed();
    const batches = await runAll([underWay, ...answers]);
    assert.equal(batches.flat().join(''), `a${served}`);
    for (const [index, item] of [...'bcde'].entries())
      if (!served.includes(item)) await assert.rejects(answers[index] ?? assert.fail(), QueueFull);
    // The queue has as much room as before, and no more.
    clock.ms += 1_000;
    const later = [...'fghi'].map((item) => submit(item));
    await assert.rejects(submit('j'), QueueFull);
    await runAll(later);
    await Promise.all(later);
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
