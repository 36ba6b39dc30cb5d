// The demonstrations with many sizes, and on as many threads as each may have.
import { after, test } from 'node:test';
import { POOL_LIMITS } from '../../src/concurrency/thread-pool.ts';
import {
  assertCounter,
  assertEvent,
  assertNoMixing,
  assertPool,
  assertQueue,
  assertSemaphore,
  assertThreadLocal,
  ODD_TEXTS,
} from '../support/demonstration-checks.ts';
import { numbered } from '../support/demonstration-requests.ts';
import { startService } from '../support/service.ts';

// A busy machine starts threads slowly.
Object.assign(POOL_LIMITS, { startMs: 60_000, queueMs: 60_000 });
const service = await startService({ after });

test('counter: many sizes', async () => {
  for (const [workers, count] of [
    [16, 1],
    [1, 1_000],
    [7, 143],
    [16, 1_000],
  ] as const) {
    await assertCounter(service, workers, count);
  }
});

test('semaphore: many limits', async () => {
  const fifty = Array.from({ length: 50 }, (_, index) => index - 25);
  for (const limit of [1, 3, 8, 8]) await assertSemaphore(service, fifty, limit);
  for (const count of [7, 8, 9]) await assertSemaphore(service, fifty.slice(0, count), 8);
});

test('event: many texts', async () => {
  const texts = [
    '',
    'a',
    ...ODD_TEXTS,
    '👩‍👩‍👧 𝒳',
    'x'.repeat(500),
    '😀'.repeat(500),
    '\u0000'.repeat(500),
  ];
  for (const payload of texts) await assertEvent(service, payload);
});

test('pool: many lists', async () => {
  const lists = [
    ['a'],
    ['fail'],
    numbered(50),
    numbered(9, 'fail'),
    [...ODD_TEXTS, 'fail', 'failure'],
    ['x'.repeat(100_000)],
  ];
  for (const items of lists)
    for (const workers of [1, 8]) await assertPool(service, items, workers);
});

test('queue: many consumers and sizes', async () => {
  await assertQueue(service, ['a'], 8, 50);
  for (const size of [1, 4, 50]) await assertQueue(service, numbered(50), 8, size);
  await assertQueue(service, numbered(50), 3, 7);
});

test('thread-local: many keys and lists', async () => {
  await assertThreadLocal(service, numbered(8), '😀'.repeat(100));
  for (const key of ['request', 'constructor'])
    await assertThreadLocal(service, numbered(120), key);
  await assertThreadLocal(service, numbered(80_000), 'k');
});

test('demonstrations: those of three clients do not mix', () => assertNoMixing(service, 3, 20));
