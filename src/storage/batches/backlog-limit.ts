// Limits a queue to what recent throughput can serve in a short time, plus occasional bursts.
import { availableParallelism } from 'node:os';

/** The limits of a batch and of its queue. Each batcher chooses the unit of its sizes. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchSize: 4_194_304,
  /** Turns of the event loop after a batch, in which clients send more on a single core. */
  pauseTurns: availableParallelism() > 1 ? 0 : 4,
  queueItems: 8_192,
  queueSize: 67_108_864,
  /** This many may always wait; more, only if they can be served in `waitMs` or `waitBatches`. */
  guaranteedItems: 128,
  waitMs: 50,
  waitBatches: 2,
  /** Further items spend tokens: the bucket holds `burstItems` and gains one per `burstItemMs`. */
  burstItems: 4_096,
  burstItemMs: 4,
};

const WINDOW_BATCHES = 8;

/** Decides which items may join one queue. */
export class BacklogLimit {
  readonly #limits: typeof BATCH_LIMITS;
  /** Moving sums over recent batches; `ms` is busy time, where overlapping batches count once. */
  readonly #recent = { items: 1, batches: 1, ms: 0 };
  #lastDoneMs = 0;
  #tokens: number;
  #lastRefillMs = 0;
  #isInBurst = false;

  constructor(limits: typeof BATCH_LIMITS) {
    this.#limits = limits;
    this.#tokens = limits.burstItems;
  }

  /** Whether an item may join the queue; spends a token if it needs one. */
  admit(length: number, size: number, itemSize: number): boolean {
    const { queueItems, queueSize, burstItems, burstItemMs } = this.#limits;
    if (length >= queueItems || size + itemSize > queueSize) return false;
    if (this.#needsNoToken(length)) {
      this.#isInBurst = false;
      return true;
    }
    // Refill only when a burst begins: a queue that stays long must not gain tokens.
    if (!this.#isInBurst) {
      const now = performance.now();
      this.#tokens = Math.min(burstItems, this.#tokens + (now - this.#lastRefillMs) / burstItemMs);
      this.#lastRefillMs = now;
    }
    this.#isInBurst = true;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Records a finished batch of `items`. Time before `busySinceMs` does not count. */
  recordBatch(busySinceMs: number, items: number): void {
    const now = performance.now();
    const recent = this.#recent;
    recent.items += items - recent.items / WINDOW_BATCHES;
    recent.batches += 1 - recent.batches / WINDOW_BATCHES;
    recent.ms += now - Math.max(busySinceMs, this.#lastDoneMs) - recent.ms / WINDOW_BATCHES;
    this.#lastDoneMs = now;
  }

  #needsNoToken(length: number): boolean {
    const { guaranteedItems, waitMs, waitBatches } = this.#limits;
    const { items, batches, ms } = this.#recent;
    const maxWaitMs = Math.max(waitMs, (waitBatches * ms) / batches);
    return length < guaranteedItems || length * ms < maxWaitMs * items;
  }
}
