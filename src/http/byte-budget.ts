// Bounds the memory of all large bodies, or all large answers, together.
import type { Writable } from 'node:stream';
import { waitWithin } from '../bounded-wait.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { unavailable } from './problem.ts';

/** A number of bytes that responses share. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #refusal: string;
  /** The bytes that each caller waits for, by the function that gives it room. */
  readonly #waiting = new Map<() => void, number>();
  #usedBytes = 0;
  #readers = 0;

  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  /** Throws service-unavailable if `bytes` more do not fit. */
  ensureRoom(bytes = 1): void {
    if (this.#usedBytes + bytes > this.#maxBytes) throw unavailable(this.#refusal);
  }

  /** Counts further bytes, even beyond the budget, and readers; negative numbers give them back. */
  count(bytes: number, readers = 0): void {
    this.#usedBytes += bytes;
    this.#readers += readers;
    if (bytes < 0) this.#serve();
  }

  /**
   * Calls `take` in its turn, when `bytes` fit; rejects with a 503 or the reason of `signal`. The
   * time that others take to read does not count: only slow clients can keep room for long.
   */
  wait(bytes: number, signal: AbortSignal, take: () => void): Promise<void> {
    const late = () => unavailable(this.#refusal);
    if (this.#waiting.size >= DISPATCH_LIMITS.waitingReplies) return Promise.reject(late());
    const goesOn = () => this.#readers > 0;
    return waitWithin({ ms: DISPATCH_LIMITS.replyWaitMs, late, goesOn, signal }, (resolve) => {
      const accept = () => {
        take();
        resolve();
      };
      this.#waiting.set(accept, bytes);
      this.#serve();
      // Those behind may need less.
      return () => this.#waiting.delete(accept) && this.#serve();
    });
  }

  #serve(): void {
    for (const [accept, bytes] of this.#waiting) {
      if (this.#usedBytes + bytes > this.#maxBytes) return;
      this.#waiting.delete(accept);
      accept();
    }
  }
}

/** What one response holds of a budget. It gives everything back when it closes. */
export class Share {
  readonly #budget: ByteBudget;
  readonly #response: Writable;
  bytes = 0;
  #isReading = false;

  constructor(budget: ByteBudget, response: Writable) {
    this.#budget = budget;
    this.#response = response;
  }

  /** Holds `bytes` in place of the earlier ones, even beyond the budget. */
  hold(bytes: number, isReading = false): void {
    // A closed response would never give the bytes back.
    if (this.#response.destroyed) return;
    if (this.bytes === 0) this.#response.once('close', () => this.#change(0));
    this.#change(bytes, isReading);
  }

  /** Holds at least `bytes` as soon as they fit. Rejects as {@link ByteBudget.wait}. */
  async reserve(bytes: number, signal: AbortSignal): Promise<void> {
    // A page that is read again would wait for itself.
    if (this.bytes < bytes) await this.#budget.wait(bytes, signal, () => this.hold(bytes, true));
  }

  #change(bytes: number, isReading = false): void {
    const further = bytes - this.bytes;
    const readers = Number(isReading) - Number(this.#isReading);
    this.bytes = bytes;
    this.#isReading = isReading;
    this.#budget.count(further, readers);
  }
}
