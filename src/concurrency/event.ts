// POST /event/sync: a producer passes a text to a consumer through shared memory. One event signals
// that the text is ready, another that it has been read.
import type { Demonstration } from './demonstration.ts';
import { readText, textMemory, writeText } from './shared-text.ts';
import { eventCells, openEvent } from './sync.ts';

interface Request {
  readonly payload: string;
}

interface Input {
  readonly ready: Int32Array;
  readonly done: Int32Array;
  readonly text: Uint16Array;
  /** The text to pass on; only the producer has it. */
  readonly payload: string | undefined;
}

/** The consumer reports the text that it read, the producer whether `done` was set. */
type Result =
  | { readonly payload: string; readonly length: number; readonly ready: boolean }
  | { readonly done: boolean };

/** Demonstrates events. */
export const event: Demonstration<Request, Input, Result> = {
  prepare({ payload }) {
    const shared = { ready: eventCells(), done: eventCells(), text: textMemory(payload.length) };
    return {
      // Thread 0 is the producer, thread 1 the consumer.
      size: 2,
      inputFor: (index) => ({ ...shared, payload: index === 0 ? payload : undefined }),
      answer: ([produced, consumed]) => JSON.stringify({ ...consumed, ...produced }),
    };
  },

  work({ ready, done, text, payload }) {
    return payload === undefined ? consume(ready, done, text) : produce(ready, done, text, payload);
  },
};

function produce(ready: Int32Array, done: Int32Array, text: Uint16Array, payload: string): Result {
  writeText(text, payload);
  // A thread that sees the event also sees everything that was written before it was set.
  openEvent(ready).set();
  const read = openEvent(done);
  read.wait();
  return { done: read.isSet() };
}

function consume(ready: Int32Array, done: Int32Array, text: Uint16Array): Result {
  const written = openEvent(ready);
  written.wait();
  const payload = readText(text);
  openEvent(done).set();
  return { payload, length: [...payload].length, ready: written.isSet() };
}
