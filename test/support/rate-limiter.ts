// Checks of the rate limiter. The caller chooses the size.
import assert from 'node:assert/strict';
import { LocalRateLimiter } from '../../src/guards/rate-limit.ts';
import type { Ends } from './engine.ts';
import { heapMegabytes } from './heap.ts';

/** The window of a quota. */
export const WINDOW_MS = 60_000;

/** Stops the clock of all quotas: on a slow machine, parts of them would come back. */
export function stopQuotas(test: Ends): void {
  const { prototype } = LocalRateLimiter;
  const { peek } = prototype;
  // A multiple of all intervals, which divides without a remainder.
  const now = 1_000 * WINDOW_MS;
  prototype.peek = function peekThen(client, count) {
    return peek.call(this, client, count, now);
  };
  test.after(() => Object.assign(prototype, { peek }));
}

/** Takes until the limiter refuses; returns how often it allowed. */
export function spend(limiter: LocalRateLimiter, client: string, now: number): number {
  let allowed = 0;
  while (limiter.take(client, 1, now).allowed) allowed += 1;
  return allowed;
}

/** Asserts that a quota is exact at the clock time `start`. */
export function assertQuota(quota: number, start: number): void {
  const limiter = new LocalRateLimiter(quota);
  const interval = WINDOW_MS / quota;
  assert.equal(spend(limiter, 'a', start), quota);
  assert.equal(limiter.take('a', 1, start + interval * 0.99).allowed, false);
  assert.equal(spend(limiter, 'a', start + interval), 1);
  assert.equal(spend(limiter, 'a', start + interval + WINDOW_MS / 2), Math.floor(quota / 2));
  assert.equal(spend(limiter, 'a', start + 10 * WINDOW_MS), quota);
}

/** Asserts that of `clients` clients the latest are remembered, in bounded memory. */
export function assertLimiterBounded(clients: number): void {
  const limiter = new LocalRateLimiter(1);
  const addressOf = (client: number) => `198.51.${client >> 8}.${client & 255}`;
  const before = heapMegabytes();
  for (let client = 0; client < clients; client += 1) limiter.take(addressOf(client), 1, 0);
  const grown = heapMegabytes() - before;
  assert.equal(limiter.take(addressOf(clients - 1), 1, 0).allowed, false);
  assert.equal(limiter.take(addressOf(clients - 50_000), 1, 0).allowed, false);
  assert.equal(limiter.take(addressOf(0), 1, 0).allowed, true, 'no client was forgotten');
  assert.ok(grown < 16, `${grown} MB`);
}
