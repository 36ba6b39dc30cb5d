// The answers of the six demonstrations, to the code point, up to as many threads as each may have.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import { setLimits } from '../../support/overload.ts';
import { startService } from '../../support/service.ts';

// A busy machine starts threads slowly.
setLimits({ after }, POOL_LIMITS, { queueMs: 60_000 });
const service = await startService({ after });

/** Texts that are easily spoiled. */
const ODD_TEXTS = '\ufeff|\u0000|a\u0000b\u0000|😀|e\u0301é|\u2028\uffff|"\\\n'.split('|');
const LARGEST = Number.MAX_SAFE_INTEGER;
const FIFTY = Array.from({ length: 50 }, (_, index) => index - 25);
const FAILS = ['fail', 'Fail', ' fail', 'failure', 'unfailing', 'same', 'same', 'fail'];
const LONG = 'x'.repeat(100_000);

test('demonstrations: each accepts a small request', async () => {
  for (const [path, members] of Object.entries(TAKEN)) {
    const parsed = Object.entries(members).map(([name, text]) => [name, JSON.parse(text)]);
    await run(service, path, Object.fromEntries(parsed));
  }
  // The threads of the other tests would each write a file of coverage.
  delete process.env.NODE_V8_COVERAGE;
});

async function assertCounter(workers: number, count: number) {
  const expected = workers * count;
  const answer = await run(service, '/counter/increment', { workers, count });
  assert.deepEqual(answer, { expected, actual: expected, consistent: true });
}

test('counter: reaches the expected number', async () => {
  for (const workers of [1, 4, 16]) await assertCounter(workers, 1_000);
});

async function assertSemaphore(task_ids: readonly number[], concurrency_limit: number) {
  const answer = await run(service, '/semaphore/run', { task_ids, concurrency_limit });
  const { completed, ...rest } = answer;
  const total = task_ids.length;
  const peak_concurrency = Math.min(concurrency_limit, total);
  assert.deepEqual(rest, { total, concurrency_limit, peak_concurrency });
  const sorted = (ids: readonly number[]) => [...ids].sort((one, other) => one - other);
  assert.deepEqual(sorted(completed), sorted(task_ids));
}

test('semaphore: each task runs once, as many at once as allowed', async () => {
  await assertSemaphore([5, 5, 5, 5], 1);
  await assertSemaphore([LARGEST, -LARGEST, 0, LARGEST, 7, 7], 2);
  for (const limit of [2, 8]) await assertSemaphore(FIFTY, limit);
  for (const count of [7, 8, 9]) await assertSemaphore(FIFTY.slice(0, count), 8);
});

async function assertEvent(payload: string) {
  const answer = await run(service, '/event/sync', { payload });
  assert.deepEqual(answer, { payload, length: [...payload].length, ready: true, done: true });
}

test('event: the text comes back exactly', async () => {
  for (const text of ['', ODD_TEXTS.join(''), '😀'.repeat(500)]) await assertEvent(text);
});

async function assertPool(items: readonly string[], max_workers: number) {
  const { succeeded, failed, ...rest } = await run(service, '/pool/run', { items, max_workers });
  assert.deepEqual(rest, { total: items.length, max_workers });
  const works = items.filter((item) => !item.startsWith('fail'));
  const hash = (item: string) => createHash('sha256').update(item, 'utf8').digest('hex');
  assert.deepEqual(
    succeeded,
    works.map((item) => ({ item, result: hash(item) })),
  );
  const fails = items.filter((item) => item.startsWith('fail'));
  assert.deepEqual(itemsOf(failed), fails);
  for (const { error } of failed) assert.doesNotMatch(error, /\n|\bat \S+:\d|\.js|100/);
}

test('pool: each item is hashed, failing items affect no other', async () => {
  await assertPool(['fail'], 2);
  await assertPool([...ODD_TEXTS, ...FAILS, '', LONG], 1);
  const items = numbered(50).map((item, index) => (index % 3 === 0 ? `fail ${item}` : item));
  await assertPool(items, 8);
});

async function assertQueue(items: readonly string[], num_consumers: number, queue_size: number) {
  const request = { items, num_consumers, queue_size };
  const { results, max_depth, ...rest } = await run(service, '/producer-consumer/run', request);
  const count = items.length;
  assert.deepEqual(rest, { produced: count, consumed: count, num_consumers, queue_size });
  assert.deepEqual(itemsOf(results), items);
  for (const { consumer } of results)
    assert.ok(Number.isInteger(consumer) && consumer >= 1 && consumer <= num_consumers, consumer);
  assert.ok(max_depth >= 1 && max_depth <= Math.min(queue_size, count), String(max_depth));
}

test('queue: each item passes once, in order, within the bound', async () => {
  for (const size of [1, 4, 50]) await assertQueue(numbered(50), 8, size);
  await assertQueue(['a'], 8, 50);
  await assertQueue([...ODD_TEXTS, 'same', 'same', '', LONG], 1, 3);
});

async function assertThreadLocal(items: readonly string[], context_key: string) {
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

test('thread-local: each thread reads its own items back', async () => {
  await assertThreadLocal(['😀'.repeat(1_000), LONG], '😀'.repeat(100));
  await assertThreadLocal(['', 'same', 'same', ...numbered(527)], '__proto__');
  await assertThreadLocal(numbered(80_000), 'k');
});

test('demonstrations: those that run at once do not mix', async () => {
  const runAll = async (client: number) => {
    const items = numbered(3, `of ${client}`);
    await Promise.all([
      assertCounter(2, 100 + client),
      assertEvent(`payload ${client}`),
      assertPool(items, 2),
      assertQueue(items, 1, 1),
      assertThreadLocal(items, 'the same'),
      assertSemaphore(Array(3).fill(client), 2),
    ]);
  };
  const notes = numbered(20).map(async (title) => {
    const { json } = await service.request('POST', '/notes', { json: { title, body: 'x' } });
    assert.equal(json.title, title);
  });
  await Promise.all([runAll(1), runAll(2), ...notes]);
});

function itemsOf(results: readonly { readonly item: string }[]): string[] {
  return results.map(({ item }) => item);
}
