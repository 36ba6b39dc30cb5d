// Divides long work on the main thread, so that requests in between are answered.
import { setImmediate as immediate } from 'node:timers/promises';

/** Runs the parts of long work one at a time, each in an iteration of the event loop. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  next(): Promise<void> {
    this.#last = this.#last.then(() => immediate());
    return this.#last;
  }
}
