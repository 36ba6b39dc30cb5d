// Bounds what large bodies or large replies hold in memory together, over all connections.
import type { ServerResponse } from 'node:http';
import { unavailable } from './problem.ts';

/** A number of bytes that responses share. What a response uses is free again when it closes. */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #refusal: string;
  #usedBytes = 0;

  /** `refusal` is the detail of the problem where the budget is exhausted. */
  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  /** Throws service-unavailable if `bytes` more do not fit. */
  ensureRoom(bytes = 1): void {
    if (this.#usedBytes + bytes > this.#maxBytes) throw unavailable(this.#refusal);
  }

  /** Returns a function that takes further bytes for `response`, whether they fit or not. */
  account(response: ServerResponse): (bytes: number) => void {
    let takenBytes = 0;
    return (bytes) => {
      // A closed response would never give them back.
      if (response.destroyed) return;
      if (takenBytes === 0) {
        response.once('close', () => {
          this.#usedBytes -= takenBytes;
        });
      }
      takenBytes += bytes;
      this.#usedBytes += bytes;
    };
  }
}
