// Limits rates by the generic cell rate algorithm (GCRA), which stores one number per client.
import { LRUCache } from 'lru-cache';

export const WINDOW_S = 60;

/** Beyond this number, the least recently seen client is dropped. */
const MAX_CLIENTS = 65_536;

/** The tolerance of comparisons, as a fraction of an interval, because clocks are rounded. */
const ROUNDING = 0.000_1;

export interface Quota {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Whole seconds until the requests are allowed, if they are not now. */
  readonly retryAfterS: number;
  /** Whole seconds until the whole quota is available again. */
  readonly resetS: number;
}

/** Limits the requests of each client, in this process or through another. */
export interface RateLimiter {
  /** Counts `count` requests, all or none, and returns the quota after them. */
  take(client: string, count?: number): Quota | Promise<Quota>;
  /** Returns what `take` would return, without counting. */
  peek(client: string, count?: number): Quota | Promise<Quota>;
}

/** Allows each client `quota` requests in {@link WINDOW_S} seconds, in bounded memory. */
export class LocalRateLimiter implements RateLimiter {
  readonly #quota: number;
  readonly #intervalMs: number;
  /** When each client's quota is complete again; in intervals, so a request adds exactly 1. */
  readonly #fullAt = new LRUCache<string, number>({
    // With `max`, it would allocate the space of all clients when it is created.
    maxSize: MAX_CLIENTS,
    sizeCalculation: () => 1,
  });

  constructor(quota: number) {
    this.#quota = quota;
    this.#intervalMs = (WINDOW_S * 1_000) / quota;
  }

  take(client: string, count = 1, now = performance.now()): Quota {
    const decision = this.peek(client, count, now);
    this.#fullAt.set(client, decision.nextFullAt);
    return decision;
  }

  peek(client: string, count = 1, now = performance.now()): Quota & { nextFullAt: number } {
    const time = now / this.#intervalMs;
    const before = Math.max(this.#fullAt.peek(client) ?? 0, time);
    const wait = before + count - time - this.#quota;
    const allowed = wait <= ROUNDING;
    const nextFullAt = allowed ? before + count : before;
    return {
      allowed,
      nextFullAt,
      remaining: Math.max(0, Math.floor(this.#quota - (nextFullAt - time) + ROUNDING)),
      retryAfterS: Math.ceil((wait * this.#intervalMs) / 1_000),
      resetS: Math.ceil(((nextFullAt - time) * this.#intervalMs) / 1_000),
    };
  }
}
