// Bounds the memory of all large bodies, or all large replies, together.
import type { ServerResponse } from 'node:http';
import { unavailable } from './problem.ts';

/** A number of bytes that responses share. A response gives its bytes back when it closes. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #refusal: string;
  #usedBytes = 0;

  /** `refusal` is the detail of the problem when the budget is exhausted. */
  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  /** Throws service-unavailable if `bytes` more do not fit. */
  ensureRoom(bytes = 1): void {
    if (this.#usedBytes + bytes > this.#maxBytes) throw unavailable(this.#refusal);
  }

  /** Returns a function that counts further bytes for `response`, even beyond the budget. */
  account(response: ServerResponse): (bytes: number) => void {
    let countedBytes = 0;
    return (bytes) => {
      // A closed response would never give the bytes back.
      if (response.destroyed) return;
      if (countedBytes === 0) {
        response.once('close', () => {
          this.#usedBytes -= countedBytes;
        });
      }
      countedBytes += bytes;
      this.#usedBytes += bytes;
    };
  }
}
