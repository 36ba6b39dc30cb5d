// The answers of the six demonstrations, to the code point. One of them runs on as many threads as
// it may.
import { after, test } from 'node:test';
import { POOL_LIMITS } from '../../../src/concurrency/thread-pool.ts';
import {
  assertCounter,
  assertEvent,
  assertNoMixing,
  assertPool,
  assertQueue,
  assertSemaphore,
  assertThreadLocal,
  ODD_TEXTS,
} from '../../support/demonstration-checks.ts';
import { numbered, run, TAKEN } from '../../support/demonstration-requests.ts';
import { startService } from '../../support/service.ts';

// Idle threads would start and end beside each test, and a busy machine starts threads slowly.
Object.assign(POOL_LIMITS, { idle: 0, startMs: 60_000, queueMs: 60_000 });
const service = await startService({ after });

test('demonstrations: each accepts a small request', async () => {
  for (const [path, members] of Object.entries(TAKEN)) {
    const json = Object.fromEntries(
      Object.entries(members).map(([name, text]) => [name, JSON.parse(text)]),
    );
    await run(service, path, json);
  }
  // The threads of the other tests would each write a file of coverage.
  delete process.env.NODE_V8_COVERAGE;
});

test('counter: reaches the expected number', async () => {
  await assertCounter(service, 2, 1_000);
  await assertCounter(service, 16, 1_000);
});

test('semaphore: each task runs once, as many at once as may', async () => {
  const largest = Number.MAX_SAFE_INTEGER;
  const fifty = Array.from({ length: 50 }, (_, index) => index - 25);
  await assertSemaphore(service, [5, 5, 5, 5], 1);
  await assertSemaphore(service, [largest, -largest, 0, largest, 7, 7], 2);
  await assertSemaphore(service, fifty, 2);
});

test('event: the text comes back to the code point', async () => {
  for (const payload of ['', ODD_TEXTS.join(''), '😀'.repeat(500)])
    await assertEvent(service, payload);
});

test('pool: each item is hashed, failing items affect no other', async () => {
  const fails = ['fail', 'Fail', ' fail', 'failure', 'unfailing', 'same', 'same', 'fail'];
  await assertPool(service, ['fail'], 8);
  await assertPool(service, [...ODD_TEXTS, ...fails, '', 'x'.repeat(100_000)], 1);
  await assertPool(
    service,
    numbered(50).map((item, index) => (index % 3 === 0 ? `fail ${item}` : item)),
    3,
  );
});

test('queue: each item passes once, in order, within the bound', async () => {
  await assertQueue(service, numbered(50), 1, 1);
  await assertQueue(service, numbered(50), 3, 4);
  await assertQueue(service, [...ODD_TEXTS, 'same', 'same', '', 'x'.repeat(100_000)], 1, 3);
});

test('thread-local: each thread reads its own items back', async () => {
  await assertThreadLocal(service, ['😀'.repeat(1_000), 'x'.repeat(100_000)], '😀'.repeat(100));
  await assertThreadLocal(service, ['', 'same', 'same', ...numbered(527)], '__proto__');
});

test('demonstrations: those that run at once do not mix', () => assertNoMixing(service, 2, 2));
