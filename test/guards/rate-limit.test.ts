// The rate limiter, with a clock that the test sets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LocalRateLimiter, type Quota } from '../../src/guards/rate-limit.ts';
import { heapMegabytes } from '../support/heap.ts';

const WINDOW_MS = 60_000;

/** Takes until the limiter refuses; returns how often it allowed. */
function spend(limiter: LocalRateLimiter, client: string, now: number): number {
  let allowed = 0;
  while (limiter.take(client, 1, now).allowed) allowed += 1;
  return allowed;
}

/** Asserts that a quota is exact at the clock time `start`. */
function assertQuota(quota: number, start: number): void {
  const limiter = new LocalRateLimiter(quota);
  const interval = WINDOW_MS / quota;
  assert.equal(spend(limiter, 'a', start), quota, 'at first');
  assert.equal(limiter.take('a', 1, start + interval * 0.99).allowed, false, 'too early');
  assert.equal(spend(limiter, 'a', start + interval), 1, 'after an interval');
  const half = spend(limiter, 'a', start + interval + WINDOW_MS / 2);
  assert.equal(half, Math.floor(quota / 2), 'after half a window');
  assert.equal(spend(limiter, 'a', start + 10 * WINDOW_MS), quota, 'after ten windows');
}

for (const quota of [1, 2, 3, 7, 10, 59, 60, 61, 599, 600, 601]) {
  test(`rate limit: a quota of ${quota} at once, then evenly`, () => assertQuota(quota, 5e9));
}

test('rate limit: exact where the clock has few decimals', () => {
  // The clock reads as many intervals as with a quota of a million.
  assertQuota(20_000, 2.5e11);
});

test('rate limit: reports what remains and when to retry', () => {
  const limiter = new LocalRateLimiter(3);
  const view = ({ allowed, remaining, resetS }: Quota) => [allowed, remaining, resetS];
  assert.deepEqual(view(limiter.peek('a', 1, 0)), [true, 2, 20]);
  const taken = [0, 0, 0].map((now) => view(limiter.take('a', 1, now)));
  assert.deepEqual(taken, [
    [true, 2, 20],
    [true, 1, 40],
    [true, 0, 60],
  ]);
  for (const [now, expectedS] of [
    [0, 20],
    [1, 20],
    [600, 20],
    [19_001, 1],
    [19_990, 1],
  ] as const) {
    const { allowed, remaining, retryAfterS } = limiter.take('a', 1, now);
    assert.deepEqual([allowed, remaining, retryAfterS], [false, 0, expectedS], `at ${now} ms`);
  }
  assert.equal(limiter.take('a', 1, 20_000).allowed, true);
});

test('rate limit: several requests are counted together, or none of them', () => {
  const limiter = new LocalRateLimiter(10);
  assert.equal(limiter.take('a', 4, 0).remaining, 6);
  const refused = limiter.take('a', 7, 0);
  assert.deepEqual(
    [refused.allowed, refused.remaining, refused.retryAfterS, refused.resetS],
    [false, 6, 6, 24],
  );
  assert.equal(limiter.peek('a', 7, 6_000).allowed, true);
  assert.equal(limiter.peek('a', 7, 5_990).allowed, false);
  assert.equal(limiter.take('a', 6, 0).remaining, 0);
  assert.equal(limiter.take('a', 0, 0).allowed, true);
});

test('rate limit: no interval exceeds the quota and its refill', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (quota, pauses) => {
      const limiter = new LocalRateLimiter(quota);
      const allowed: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        now += pause;
        if (limiter.take('a', 1, now).allowed) allowed.push(now);
      }
      for (const [index, first] of allowed.entries()) {
        for (const [further, last] of allowed.slice(index).entries()) {
          const most = quota + ((last - first) * quota) / WINDOW_MS;
          assert.ok(further + 1 <= most + 0.01, `${further + 1} of ${most}`);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('rate limit: an active client is remembered among others', () => {
  const limiter = new LocalRateLimiter(2);
  spend(limiter, 'busy', 0);
  for (let client = 0; client < 140_000; client += 1) {
    limiter.take(`client ${client}`, 1, 0);
    if (client % 10_000 === 0)
      assert.equal(limiter.take('busy', 1, 0).allowed, false, `after ${client} clients`);
  }
});

test('rate limit: bounded memory, the oldest are forgotten', () => {
  const clients = 100_000;
  const limiter = new LocalRateLimiter(1);
  const addressOf = (client: number) => `198.51.${client >> 8}.${client & 255}`;
  const before = heapMegabytes();
  for (let client = 0; client < clients; client += 1) limiter.take(addressOf(client), 1, 0);
  const grown = heapMegabytes() - before;
  assert.equal(limiter.take(addressOf(clients - 1), 1, 0).allowed, false);
  assert.equal(limiter.take(addressOf(clients - 50_000), 1, 0).allowed, false);
  assert.equal(limiter.take(addressOf(0), 1, 0).allowed, true, 'no client was forgotten');
  assert.ok(grown < 16, `${grown} MB`);
});
