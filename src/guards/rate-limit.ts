// How often a client may ask: the generic cell rate algorithm (GCRA), which needs one number for each client. A client that
// has been quiet may spend its whole quota at once and gets it back evenly over the window.

/** The window of a quota, in seconds. */
export const WINDOW_S = 60;

const WINDOW_MS = WINDOW_S * 1_000;

/** How many clients are remembered; whoever was heard of least recently is forgotten first, and begins anew. */
const CLIENTS_MOST = 65_536;

/** What is due within this part of an interval counts as due: a clock has only so many decimals. */
const ROUNDING = 0.000_1;

/** What is left of a client's quota. */
export interface Quota {
  readonly allowed: boolean;
  /** How many more requests are allowed now. */
  readonly remaining: number;
  /** Whole seconds until the next request is allowed, if this one is not, and until the quota is full again; 1 or more. */
  readonly retryAfterS: number;
  readonly resetS: number;
}

/** Counts requests of clients, each of which has a quota of its own; maybe elsewhere. */
export interface RateLimiter<Answer = Quota | Promise<Quota>> {
  /** Counts a request and says whether it is allowed; one that is not costs nothing. `now` is in milliseconds. */
  take(client: string, now?: number): Answer;
  /** Says what `take` would, and counts nothing. */
  look(client: string, now?: number): Answer;
}

/** Returns a limiter that allows each client `quota` requests in {@link WINDOW_S} seconds. Its memory is bounded. */
export function createRateLimiter(quota: number): RateLimiter<Quota> {
  const intervalMs = WINDOW_MS / quota;
  /** When each client's quota will be full again, counted in intervals: so that adding one is exact, however often. */
  const fullAt = new Map<string, number>();
  /** Goes over the clients in their order, each of which it forgets: what it comes to next is the oldest. */
  const oldest = fullAt.keys();

  function judge(client: string, now: number): Quota & { readonly nextFullAt: number } {
    const time = now / intervalMs;
    const before = Math.max(fullAt.get(client) ?? 0, time);
    const wait = before + 1 - time - quota;
    const allowed = wait <= ROUNDING;
    const nextFullAt = allowed ? before + 1 : before;
    return {
      allowed,
      nextFullAt,
      remaining: Math.max(0, Math.floor(quota - (nextFullAt - time) + ROUNDING)),
      retryAfterS: seconds(wait * intervalMs),
      resetS: seconds((nextFullAt - time) * intervalMs),
    };
  }

  return {
    look: (client, now = performance.now()) => judge(client, now),

    take(client, now = performance.now()) {
      const quotaLeft = judge(client, now);
      // A map keeps the order of insertion: taken out and put in again, the client is the latest.
      fullAt.delete(client);
      fullAt.set(client, quotaLeft.nextFullAt);
      if (fullAt.size > CLIENTS_MOST) fullAt.delete(oldest.next().value ?? client);
      return quotaLeft;
    },
  };
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
