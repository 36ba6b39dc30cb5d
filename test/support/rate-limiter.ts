// Stops the clock of the rate limiter.
import { LocalRateLimiter } from '../../src/guards/rate-limit.ts';
import type { Ends } from './engine.ts';

/** Stops the clock of all quotas: on a slow machine, parts of them would come back. */
export function stopQuotas(test: Ends): void {
  const { prototype } = LocalRateLimiter;
  const { peek } = prototype;
  // A multiple of all intervals, which divides without a remainder.
  const now = 60_000_000;
  prototype.peek = function peekThen(client, count) {
    return peek.call(this, client, count, now);
  };
  test.after(() => Object.assign(prototype, { peek }));
}
