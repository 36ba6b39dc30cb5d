// The limiter by a clock of the test's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRateLimiter } from '../../src/guards/rate-limit.ts';
import { heapMegabytes } from '../support/heap.ts';

const WINDOW_MS = 60_000;

/** Takes until it is refused; returns how often it was allowed. */
function spend(limiter: ReturnType<typeof createRateLimiter>, client: string, now: number): number {
  let allowed = 0;
  while (limiter.take(client, now).allowed) allowed += 1;
  return allowed;
}

for (const quota of [1, 2, 3, 7, 10, 59, 60, 61, 599, 600, 601, 1_000_000]) {
  test(`a quota of ${quota} may be spent at once, comes back evenly, and is never more`, () => {
    const limiter = createRateLimiter(quota);
    const interval = WINDOW_MS / quota;
    // A machine that has been up for long has a clock with few decimals.
    const start = 5e9;
    assert.equal(spend(limiter, 'a', start), quota);
    assert.equal(limiter.take('a', start + interval * 0.99).allowed, false);
    assert.equal(spend(limiter, 'a', start + interval), 1);
    assert.equal(spend(limiter, 'a', start + interval + WINDOW_MS / 2), Math.floor(quota / 2));
    assert.equal(spend(limiter, 'a', start + 10 * WINDOW_MS), quota);
  });
}

test('what remains and when it is full again are told, and a refusal says when to come back', () => {
  const limiter = createRateLimiter(3);
  assert.deepEqual(view(limiter.look('a', 0)), { allowed: true, remaining: 2, resetS: 20 });
  const taken = [0, 0, 0].map((now) => view(limiter.take('a', now)));
  assert.deepEqual(taken, [
    { allowed: true, remaining: 2, resetS: 20 },
    { allowed: true, remaining: 1, resetS: 40 },
    { allowed: true, remaining: 0, resetS: 60 },
  ]);
  for (const [now, retryAfterS] of [
    [0, 20],
    [1, 20],
    [600, 20],
    [19_001, 1],
    [19_990, 1],
  ] as const) {
    const refused = limiter.take('a', now);
    assert.deepEqual([refused.allowed, refused.remaining, refused.retryAfterS], [false, 0, retryAfterS]);
  }
  assert.equal(limiter.take('a', 20_000).allowed, true);
});

test('clients do not take from each other', () => {
  const limiter = createRateLimiter(2);
  assert.equal(spend(limiter, 'a', 0), 2);
  assert.equal(spend(limiter, 'b', 0), 2);
  assert.equal(limiter.look('c', 0).allowed, true);
});

test('a look counts nothing and tells what a request would be told', () => {
  const limiter = createRateLimiter(5);
  for (let round = 0; round < 6; round += 1) {
    const looks = [1, 2, 3].map(() => limiter.look('a', 7));
    const taken = limiter.take('a', 7);
    for (const look of looks) assert.deepEqual(view(look), view(taken));
  }
});

test('a refused request costs nothing: who comes back in time is let in however often it asked before', () => {
  const limiter = createRateLimiter(10);
  spend(limiter, 'a', 0);
  for (let now = 0; now < 5_990; now += 10) assert.equal(limiter.take('a', now).allowed, false);
  assert.equal(limiter.take('a', 6_000).allowed, true);
});

test('in any stretch of time no more is allowed than the quota and what came back of it', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (quota, pauses) => {
      const limiter = createRateLimiter(quota);
      const allowed: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        now += pause;
        if (limiter.take('a', now).allowed) allowed.push(now);
      }
      for (const [index, first] of allowed.entries()) {
        for (const [further, last] of allowed.slice(index).entries()) {
          assert.ok(further + 1 <= quota + ((last - first) * quota) / WINDOW_MS + 0.01);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('whoever keeps asking is remembered, however many others come', () => {
  const limiter = createRateLimiter(2);
  spend(limiter, 'busy', 0);
  for (let client = 0; client < 200_000; client += 1) {
    limiter.take(`client ${client}`, 0);
    if (client % 10_000 === 0) assert.equal(limiter.take('busy', 0).allowed, false);
  }
});

test('a million clients take a bounded memory, and those heard of last are remembered', () => {
  const limiter = createRateLimiter(1);
  const before = heapMegabytes();
  for (let client = 0; client < 1_000_000; client += 1) limiter.take(`198.51.${client >> 8}.${client & 255}`, 0);
  const grown = heapMegabytes() - before;
  assert.equal(limiter.take('198.51.3906.63', 0).allowed, false);
  assert.equal(limiter.take('198.51.3700.0', 0).allowed, false);
  assert.equal(limiter.take('198.51.0.0', 0).allowed, true, 'nobody was forgotten');
  assert.ok(grown < 16, `${grown} MB`);
});

function view({ allowed, remaining, resetS }: { allowed: boolean; remaining: number; resetS: number }) {
  return { allowed, remaining, resetS };
}
