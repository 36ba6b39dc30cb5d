// Runs one demonstration and asserts that its answer is right, whatever the sizes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { numbered, run } from './demonstration-requests.ts';
import type { Service } from './service.ts';

/**
 * Texts that are easily spoiled: a byte order mark, NUL, combining characters, surrogate pairs,
 * escapes.
 */
export const ODD_TEXTS: readonly string[] =
  '\ufeff|\u0000|a\u0000b\u0000|😀|e\u0301é|\u2028\uffff|"\\\n'.split('|');

/** Asserts that the threads lose no increment. */
export async function assertCounter(
  service: Service,
  workers: number,
  count: number,
): Promise<void> {
  const expected = workers * count;
  const answer = await run(service, '/counter/increment', { workers, count });
  assert.deepEqual(answer, { expected, actual: expected, consistent: true });
}

/** Asserts that each task runs once, and that as many run at once as may. */
export async function assertSemaphore(
  service: Service,
  task_ids: number[],
  concurrency_limit: number,
): Promise<void> {
  const { completed, ...rest } = await run(service, '/semaphore/run', {
    task_ids,
    concurrency_limit,
  });
  const total = task_ids.length;
  assert.deepEqual(rest, {
    total,
    concurrency_limit,
    peak_concurrency: Math.min(concurrency_limit, total),
  });
  const sorted = (ids: readonly number[]) => [...ids].sort((one, other) => one - other);
  assert.deepEqual(sorted(completed), sorted(task_ids));
}

/** Asserts that the text comes back to the code point. */
export async function assertEvent(service: Service, payload: string): Promise<void> {
  const answer = await run(service, '/event/sync', { payload });
  assert.deepEqual(answer, { payload, length: [...payload].length, ready: true, done: true });
}

/** Asserts that each item is hashed, and that those that fail do not affect the others. */
export async function assertPool(
  service: Service,
  items: readonly string[],
  max_workers: number,
): Promise<void> {
  const { succeeded, failed, ...rest } = await run(service, '/pool/run', { items, max_workers });
  assert.deepEqual(rest, { total: items.length, max_workers });
  const works = items.filter((item) => !item.startsWith('fail'));
  assert.deepEqual(
    succeeded,
    works.map((item) => ({
      item,
      result: createHash('sha256').update(item, 'utf8').digest('hex'),
    })),
  );
  const fails = items.filter((item) => item.startsWith('fail'));
  assert.deepEqual(itemsOf(failed), fails);
  for (const { error } of failed) assert.doesNotMatch(error, /\n|\bat \S+:\d|\.js|100/);
}

/**
 * Asserts that each item goes through the queue once, in order, and that the queue never holds too
 * many.
 */
export async function assertQueue(
  service: Service,
  items: readonly string[],
  num_consumers: number,
  queue_size: number,
): Promise<void> {
  const answer = await run(service, '/producer-consumer/run', { items, num_consumers, queue_size });
  const { results, max_depth, ...rest } = answer;
  const count = items.length;
  assert.deepEqual(rest, { produced: count, consumed: count, num_consumers, queue_size });
  assert.deepEqual(itemsOf(results), items);
  for (const { consumer } of results) {
    assert.ok(
      Number.isInteger(consumer) && consumer >= 1 && consumer <= num_consumers,
      String(consumer),
    );
  }
  assert.ok(
    max_depth >= 1 && max_depth <= Math.min(queue_size, count),
    `${max_depth} of ${queue_size}`,
  );
}

/** Asserts that each thread reads its own items back. */
export async function assertThreadLocal(
  service: Service,
  items: readonly string[],
  context_key: string,
): Promise<void> {
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

/**
 * Asserts that demonstrations of several clients and requests for notes that run at once do not
 * mix.
 */
export async function assertNoMixing(
  service: Service,
  clients: number,
  count: number,
): Promise<void> {
  const runAll = async (client: number) => {
    const items = numbered(count, `of ${client}`);
    await Promise.all([
      assertCounter(service, 2, 100 + client),
      assertEvent(service, `payload ${client}`),
      assertPool(service, items, 2),
      assertQueue(service, items, 1, 1),
      assertThreadLocal(service, items, 'the same'),
      assertSemaphore(service, Array(count).fill(client), 2),
    ]);
  };
  const notes = numbered(20).map(async (title) => {
    const { json } = await service.request('POST', '/notes', { json: { title, body: 'x' } });
    assert.equal(json.title, title);
  });
  await Promise.all([...Array(clients).keys()].map(runAll).concat(notes));
}

function itemsOf(results: readonly { readonly item: string }[]): string[] {
  return results.map(({ item }) => item);
}
