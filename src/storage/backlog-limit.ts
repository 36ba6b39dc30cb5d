// Decides whether a queue is full: it may hold what recent throughput can serve in a short time,
// and now and then a burst.

/** The limits of a batch and of its queue. Sizes are in the unit of the batcher's `size` option. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchSize: 4_194_304,
  queueItems: 8_192,
  queueSize: 67_108_864,
  /**
   * This many items may always wait. Beyond it, only what recent throughput serves within `waitMs`
   * or `waitBatches`, whichever is longer.
   */
  shortItems: 128,
  waitMs: 50,
  waitBatches: 2,
  /** A token bucket for bursts: this many tokens, one refilled every `burstItemMs`. */
  burstItems: 4_096,
  burstItemMs: 4,
};

/** The moving sums cover about this many batches. */
const SMOOTHING = 8;

/** The limit of one queue. */
export class BacklogLimit {
  readonly #limits: typeof BATCH_LIMITS;
  /** Moving sums over recent batches; `ms` is the time from the end of one to the next. */
  readonly #recent = { items: 1, batches: 1, ms: 0 };
  #lastDoneMs = 0;
  #tokens: number;
  #lastRefillMs = 0;
  #wasShort = true;

  constructor(limits: typeof BATCH_LIMITS) {
    this.#limits = limits;
    this.#tokens = limits.burstItems;
  }

  /** Whether there is no room for an item in a queue of this length and size. May spend a token. */
  isFull(length: number, size: number, itemSize: number): boolean {
    const { queueItems, queueSize } = this.#limits;
    if (length >= queueItems || size + itemSize > queueSize) return true;
    if (this.#isShort(length)) {
      this.#wasShort = true;
      return false;
    }
    // Refill only where a burst begins: a queue that stays long must not get more tokens.
    if (this.#wasShort) this.#refill();
    this.#wasShort = false;
    if (this.#tokens < 1) return true;
    this.#tokens -= 1;
    return false;
  }

  /** Records a finished batch of `items`; `startMs` is when the loop that ran it started. */
  measure(startMs: number, items: number): void {
    const now = performance.now();
    const recent = this.#recent;
    recent.items += items - recent.items / SMOOTHING;
    recent.batches += 1 - recent.batches / SMOOTHING;
    recent.ms += now - Math.max(startMs, this.#lastDoneMs) - recent.ms / SMOOTHING;
    this.#lastDoneMs = now;
  }

  #isShort(length: number): boolean {
    const { shortItems, waitMs, waitBatches } = this.#limits;
    const { items, batches, ms } = this.#recent;
    const maxWaitMs = Math.max(waitMs, (waitBatches * ms) / batches);
    return length < shortItems || length * ms < maxWaitMs * items;
  }

  #refill(): void {
    const now = performance.now();
    const { burstItems, burstItemMs } = this.#limits;
    this.#tokens = Math.min(burstItems, this.#tokens + (now - this.#lastRefillMs) / burstItemMs);
    this.#lastRefillMs = now;
  }
}
