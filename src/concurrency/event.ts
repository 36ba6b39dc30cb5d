// POST /event/sync: a producer and a consumer shake hands with two events, and a text goes from one to the other through
// shared memory.
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
  /** What is to be handed over: only the producer is given it. */
  readonly payload: string | undefined;
}

/** What the consumer read, or that the producer saw it done. */
type Result =
  | { readonly payload: string; readonly length: number; readonly ready: boolean }
  | { readonly done: boolean };

/** The demonstration of events. Specification, section 4.6. */
export const event: Demonstration<Request, Input, Result> = {
  prepare({ payload }) {
    const shared = { ready: eventCells(), done: eventCells(), text: textMemory(payload.length) };
    return {
      // The producer is thread 0, the consumer thread 1.
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
  // Whoever sees the event sees what was written before it was set.
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
