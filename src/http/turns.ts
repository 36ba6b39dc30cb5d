// Divides long work on the main thread, so that requests in between are answered, and connections
// accepted: Node accepts one in each iteration of the event loop.
import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';

/** Runs the parts of long work one at a time, each in an iteration of the event loop. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(() => immediate());
    return this.#last;
  }
}

/** How long some kind of work may take in one iteration. */
const SLICE_MS = 2;
/** While connections arrive, one in this many iterations does the work; the others only accept. */
const ITERATIONS_PER_SLICE = 4;

/** The share that some kind of work has in each iteration of the event loop. */
export class Slice {
  readonly #accepted: () => number;
  #acceptedBefore = 0;
  #skipped = 0;
  #endMs = 0;

  /** `accepted` returns the number of connections that were accepted so far. */
  constructor(accepted: () => number) {
    this.#accepted = accepted;
  }

  begin(): void {
    const accepted = this.#accepted();
    const isShort = accepted !== this.#acceptedBefore && this.#skipped < ITERATIONS_PER_SLICE - 1;
    this.#acceptedBefore = accepted;
    this.#skipped = isShort ? this.#skipped + 1 : 0;
    this.#endMs = isShort ? 0 : performance.now() + SLICE_MS;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endMs;
  }
}

/** Runs the parts of work in the order in which they come, in a slice of each iteration. */
export class Slices extends Slice {
  readonly #waiting: (() => void)[] = [];
  #hasBegun = false;

  /** Returns undefined if there is time for a part now, or else a promise that resolves then. */
  next(): Promise<void> | undefined {
    if (!this.#hasBegun) this.begin();
    if (this.#waiting.length === 0 && !this.isOver) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  override begin(): void {
    super.begin();
    this.#hasBegun = true;
    setImmediate(this.#goOn);
  }

  readonly #goOn = async () => {
    this.#hasBegun = this.#waiting.length > 0;
    if (this.#hasBegun) this.begin();
    while (this.#waiting.length > 0 && !this.isOver) {
      this.#waiting.shift()?.();
      // The part runs in the microtask before the next.
      await undefined;
    }
  };
}
