// Runs one demonstration and asserts that its answer is correct, for any sizes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import { numbered, run, TAKEN } from './demonstration-requests.ts';
import { type Service, startService } from './service.ts';

/**
 * Texts that are easily spoiled: a byte order mark, NUL, combining characters, surrogate pairs,
 * escapes.
 */
export const ODD_TEXTS: readonly string[] =
  '\ufeff|\u0000|a\u0000b\u0000|😀|e\u0301é|\u2028\uffff|"\\\n'.split('|');

type Items = readonly string[];

/** The requests of each test, as the arguments of the functions below. */
export interface Demonstrations {
  readonly counters: readonly (readonly [workers: number, count: number])[];
  readonly semaphores: readonly (readonly [taskIds: number[], limit: number])[];
  readonly events: Items;
  readonly pools: readonly (readonly [items: Items, maxWorkers: number])[];
  readonly queues: readonly (readonly [items: Items, consumers: number, size: number])[];
  readonly threadLocals: readonly (readonly [items: Items, key: string])[];
  /** How many clients run all demonstrations at once, and with how many items. */
  readonly mixed: readonly [clients: number, count: number];
}

/** Registers the tests on one service, which is patient: a busy machine starts threads slowly. */
export async function testDemonstrations(sizes: Demonstrations): Promise<void> {
  Object.assign(POOL_LIMITS, { queueMs: 60_000 });
  const service = await startService({ after });
  test('demonstrations: each accepts a small request', async () => {
    for (const [path, members] of Object.entries(TAKEN)) {
      const parsed = Object.entries(members).map(([name, text]) => [name, JSON.parse(text)]);
      await run(service, path, Object.fromEntries(parsed));
    }
    // The threads of the other tests would each write a file of coverage.
    delete process.env.NODE_V8_COVERAGE;
  });
  test('counter: reaches the expected number', async () => {
    for (const each of sizes.counters) await assertCounter(service, ...each);
  });
  test('semaphore: each task runs once, as many at once as allowed', async () => {
    for (const each of sizes.semaphores) await assertSemaphore(service, ...each);
  });
  test('event: the text comes back exactly', async () => {
    for (const each of sizes.events) await assertEvent(service, each);
  });
  test('pool: each item is hashed, failing items affect no other', async () => {
    for (const each of sizes.pools) await assertPool(service, ...each);
  });
  test('queue: each item passes once, in order, within the bound', async () => {
    for (const each of sizes.queues) await assertQueue(service, ...each);
  });
  test('thread-local: each thread reads its own items back', async () => {
    for (const each of sizes.threadLocals) await assertThreadLocal(service, ...each);
  });
  test('demonstrations: those that run at once do not mix', () =>
    assertNoMixing(service, ...sizes.mixed));
}

/** Asserts that the threads lose no increment. */
async function assertCounter(service: Service, workers: number, count: number) {
  const expected = workers * count;
  const answer = await run(service, '/counter/increment', { workers, count });
  assert.deepEqual(answer, { expected, actual: expected, consistent: true });
}

/** Asserts that each task runs once, and that as many run at once as may. */
async function assertSemaphore(
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
async function assertEvent(service: Service, payload: string): Promise<void> {
  const answer = await run(service, '/event/sync', { payload });
  assert.deepEqual(answer, { payload, length: [...payload].length, ready: true, done: true });
}

/** Asserts that each item is hashed, and that those that fail do not affect the others. */
async function assertPool(service: Service, items: Items, max_workers: number) {
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
async function assertQueue(
  service: Service,
  items: Items,
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
async function assertThreadLocal(
  service: Service,
  items: Items,
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
async function assertNoMixing(service: Service, clients: number, count: number) {
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
