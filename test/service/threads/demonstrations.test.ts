// What the six demonstrations answer, to the code point. Specification, sections 4.6 and 8.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { numbered, run } from '../../support/demonstration-requests.ts';
import { startService } from '../../support/service.ts';

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

test('the counter reaches what was expected, whatever its size', async (t) => {
  const service = await startService(t);
  const sizes = [
    [1, 1],
    [16, 1],
    [1, 1_000],
    [2, 1_000],
    [7, 143],
    [16, 1_000],
    [16, 1_000],
  ] as const;
  for (const [workers, count] of sizes) {
    const expected = workers * count;
    assert.deepEqual(await run(service, '/counter/increment', { workers, count }), {
      expected,
      actual: expected,
      consistent: true,
    });
  }
});

test('the semaphore runs each task once, as many at a time as it may and never more', async (t) => {
  const service = await startService(t);
  const largest = Number.MAX_SAFE_INTEGER;
  const fifty = Array.from({ length: 50 }, (_, index) => index - 25);
  const cases: [taskIds: number[], limit: number][] = [
    [[7], 1],
    [[7], 8],
    [[1, 2, 3], 2],
    [[5, 5, 5, 5], 3],
    [[largest, -largest, 0, largest, 7, 7], 4],
    [fifty, 1],
    [fifty, 3],
    [fifty, 8],
    [fifty, 8],
    [fifty.slice(0, 8), 8],
    [fifty.slice(0, 7), 8],
    [fifty.slice(0, 9), 8],
  ];
  const sorted = (ids: readonly number[]) => [...ids].sort((one, other) => one - other);
  for (const [task_ids, concurrency_limit] of cases) {
    const { completed, ...rest } = await run(service, '/semaphore/run', { task_ids, concurrency_limit });
    const total = task_ids.length;
    assert.deepEqual(rest, { total, concurrency_limit, peak_concurrency: Math.min(concurrency_limit, total) });
    assert.deepEqual(sorted(completed), sorted(task_ids));
  }
});

test('the text that the event hands over comes back to the code point', async (t) => {
  const service = await startService(t);
  const texts = ['', 'a', '\u0000', 'a\u0000b\u0000', '😀', 'e\u0301é', '\ufeff\u2028\uffff', '"\\\n', '👩‍👩‍👧 𝒳'];
  for (const payload of [...texts, 'x'.repeat(500), '😀'.repeat(500), '\u0000'.repeat(500)]) {
    assert.deepEqual(await run(service, '/event/sync', { payload }), {
      payload,
      length: [...payload].length,
      ready: true,
      done: true,
    });
  }
});

test('the pool hashes each item, and those that fail take no other along', async (t) => {
  const service = await startService(t);
  const mixed = numbered(50).map((item, index) => (index % 3 === 0 ? `fail ${item}` : item));
  const odd = [
    '',
    '\u0000',
    '😀',
    'fail',
    'Fail',
    ' fail',
    'failure',
    'unfailing',
    'same',
    'same',
    'fail',
    'é',
    'e\u0301',
  ];
  const lists = [['a'], ['fail'], numbered(50), mixed, odd, numbered(9, 'fail'), ['x'.repeat(100_000)]];
  for (const items of lists) {
    for (const max_workers of [1, 8]) {
      const { succeeded, failed, ...rest } = await run(service, '/pool/run', { items, max_workers });
      assert.deepEqual(rest, { total: items.length, max_workers });
      const works = items.filter((item) => !item.startsWith('fail'));
      assert.deepEqual(
        succeeded,
        works.map((item) => ({ item, result: sha256(item) })),
      );
      const fails = items.filter((item) => item.startsWith('fail'));
      assert.deepEqual(
        failed.map(({ item }: { item: string }) => item),
        fails,
      );
      for (const { error } of failed) assert.doesNotMatch(error, /\n|\bat \S+:\d|\.js|100/);
    }
  }
});

test('each item goes through the queue once, in order, and the queue never holds more than it may', async (t) => {
  const service = await startService(t);
  const cases: [items: string[], consumers: number, size: number][] = [
    [['a'], 1, 1],
    [['a'], 8, 50],
    [numbered(50), 1, 1],
    [numbered(50), 8, 1],
    [numbered(50), 8, 50],
    [numbered(50), 8, 4],
    [numbered(50), 3, 7],
    [['', '\u0000', '😀', 'same', 'same', 'x'.repeat(100_000)], 2, 3],
  ];
  for (const [items, num_consumers, queue_size] of cases) {
    const answer = await run(service, '/producer-consumer/run', { items, num_consumers, queue_size });
    const { results, max_depth, ...rest } = answer;
    const count = items.length;
    assert.deepEqual(rest, { produced: count, consumed: count, num_consumers, queue_size });
    assert.deepEqual(
      results.map(({ item }: { item: string }) => item),
      items,
    );
    for (const { consumer } of results) {
      assert.ok(Number.isInteger(consumer) && consumer >= 1 && consumer <= num_consumers, String(consumer));
    }
    assert.ok(max_depth >= 1 && max_depth <= Math.min(queue_size, count), `${max_depth} of ${queue_size}`);
  }
});

test('each thread reads its own context back, whatever the key, the items and their number', async (t) => {
  const service = await startService(t);
  const cases: [items: string[], key: string][] = [
    [['a'], 'k'],
    [['a', 'b'], 'k'.repeat(100)],
    [numbered(8), '😀'.repeat(100)],
    [numbered(120), 'request'],
    [numbered(120), '__proto__'],
    [numbered(9), 'constructor'],
    [numbered(3), '\u0000'],
    [['x'.repeat(100_000), '', '\u0000', '😀'.repeat(1_000), 'same', 'same'], 'toString'],
  ];
  for (const [items, context_key] of cases) {
    const { results, ...rest } = await run(service, '/thread-local/run', { items, context_key });
    const workers = Math.min(items.length, 8);
    assert.deepEqual(rest, { context_key, total: items.length, workers, isolated: true });
    assert.deepEqual(
      results.map(({ item, value }: { item: string; value: string }) => [item, value]),
      items.map((item) => [item, item]),
    );
    const seen: Set<number> = new Set(results.map(({ worker }: { worker: number }) => worker));
    assert.deepEqual(
      [...seen].sort(),
      Array.from({ length: workers }, (_, index) => index + 1),
    );
  }
});

test('demonstrations that run at once do not mix', async (t) => {
  const service = await startService(t);
  const one = async (name: number) => {
    const items = numbered(20, `of ${name}`);
    const [counted, handed, pooled, passed, kept, ran] = await Promise.all([
      run(service, '/counter/increment', { workers: 2 + name, count: 100 + name }),
      run(service, '/event/sync', { payload: `payload ${name}` }),
      run(service, '/pool/run', { items, max_workers: 2 }),
      run(service, '/producer-consumer/run', { items, queue_size: 1 }),
      run(service, '/thread-local/run', { items, context_key: 'the same' }),
      run(service, '/semaphore/run', { task_ids: [name, name, name], concurrency_limit: 2 }),
    ]);
    const itemsOf = (results: { item: string }[]) => results.map(({ item }) => item);
    assert.deepEqual([counted.actual, counted.consistent], [(2 + name) * (100 + name), true]);
    assert.equal(handed.payload, `payload ${name}`);
    for (const results of [pooled.succeeded, passed.results, kept.results]) assert.deepEqual(itemsOf(results), items);
    assert.equal(kept.isolated, true);
    assert.deepEqual([ran.completed, ran.peak_concurrency], [[name, name, name], 2]);
  };
  const notes = numbered(20).map(async (title) => {
    const { json } = await service.request('POST', '/notes', { json: { title, body: 'x' } });
    assert.equal(json.title, title);
  });
  await Promise.all([one(1), one(2), one(3), ...notes]);
});
