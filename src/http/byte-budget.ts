// Bounds the memory of all large bodies, or all large answers, together.
import type { Writable } from 'node:stream';
import { waitWithin } from '../bounded-wait.ts';
import { DISPATCH_LIMITS } from './limits.ts';
import { type Problem, unavailable } from './problem.ts';

/** A number of bytes that responses share. Each gives back what it holds when it closes. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #refusal: string;
  readonly #held = new Map<Writable, { readonly bytes: number; readonly isReading: boolean }>();
  /** The bytes that each caller waits for, by the function that gives it room. */
  readonly #waiting = new Map<() => void, number>();
  #usedBytes = 0;

  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  heldBy(response: Writable): number {
    return this.#held.get(response)?.bytes ?? 0;
  }

  /** Returns service-unavailable if `bytes` more do not fit. */
  refusal(bytes = 1): Problem | undefined {
    return this.#usedBytes + bytes > this.#maxBytes ? unavailable(this.#refusal) : undefined;
  }

  /** Throws service-unavailable if `bytes` more do not fit. */
  ensureRoom(bytes = 1): void {
    const refusal = this.refusal(bytes);
    if (refusal) throw refusal;
  }

  /** Lets a response hold `bytes` in place of the earlier ones, even beyond the budget. */
  hold(response: Writable, bytes: number, isReading = false): void {
    // A closed response would never give the bytes back.
    if (response.destroyed) return;
    if (!this.#held.has(response)) response.once('close', () => this.#release(response));
    this.#usedBytes += bytes - this.heldBy(response);
    this.#held.set(response, { bytes, isReading });
    this.#serve();
  }

  /**
   * Lets a response hold at least `bytes`, in its turn, when they fit; rejects with a 503 or the
   * reason of `signal`. The time that others take to read does not count: only slow clients can
   * keep room for long.
   */
  async reserve(response: Writable, bytes: number, signal: AbortSignal): Promise<void> {
    // A page that is read again would wait for itself.
    if (this.heldBy(response) >= bytes) return;
    const late = () => unavailable(this.#refusal);
    if (this.#waiting.size >= DISPATCH_LIMITS.waitingReplies) throw late();
    const goesOn = () => [...this.#held.values()].some(({ isReading }) => isReading);
    await waitWithin<void>({ ms: DISPATCH_LIMITS.replyWaitMs, late, goesOn, signal }, (resolve) => {
      const accept = () => {
        this.hold(response, bytes, true);
        resolve();
      };
      this.#waiting.set(accept, bytes);
      this.#serve();
      // Those behind may need less.
      return () => this.#waiting.delete(accept) && this.#serve();
    });
  }

  #release(response: Writable): void {
    this.#usedBytes -= this.heldBy(response);
    this.#held.delete(response);
    this.#serve();
  }

  #serve(): void {
    for (const [accept, bytes] of this.#waiting) {
      if (this.#usedBytes + bytes > this.#maxBytes) return;
      this.#waiting.delete(accept);
      accept();
    }
  }
}
