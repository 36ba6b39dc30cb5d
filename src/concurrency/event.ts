// POST /event/sync: one event signals that a shared text is ready, another that it has been read.
import { Event } from './sync.ts';
import { demonstration } from './thread.ts';

/** Demonstrates events. Each thread returns its members of the answer. */
export const event = demonstration({
  prepare({ payload }: { payload: string }) {
    const memory = new SharedArrayBuffer(Buffer.byteLength(payload, 'utf16le'));
    const shared = { ready: Event.cells(), done: Event.cells(), memory };
    return {
      // Thread 0 is the producer, thread 1 the consumer.
      inputs: [
        { ...shared, payload },
        { ...shared, payload: undefined },
      ],
      answer: ([produced, consumed]: readonly object[]) =>
        JSON.stringify({ ...consumed, ...produced }),
    };
  },

  work({ payload, ...shared }) {
    const ready = new Event(shared.ready);
    const done = new Event(shared.done);
    const text = Buffer.from(shared.memory);
    if (payload !== undefined) {
      text.write(payload, 'utf16le');
      // A thread that sees the event also sees everything that was written before it was set.
      ready.set();
      done.wait();
      return { done: done.isSet() };
    }
    ready.wait();
    const read = text.toString('utf16le');
    done.set();
    return { payload: read, length: [...read].length, ready: ready.isSet() };
  },
});
