// What large bodies take up while they are read and used: many at one time must not fill the memory of the process, nor
// keep everybody else waiting while one after the other is parsed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from './problem.ts';

/** From how many bytes on bodies are counted and parsed in turns, and how many bytes of them there may be together. */
export const INBOX_LIMITS = { largeBytes: 65_536, togetherBytes: 67_108_864 };

/** The large bodies that have come, in part or whole, and whose requests have not been answered. */
export interface Inbox {
  /**
   * Returns what is to be told how many bytes of the body of `message` have come, whenever more have. It throws
   * service-unavailable when there is no room for them, and this does so at once if the body is declared to be large.
   */
  open(message: IncomingMessage, response: ServerResponse): (received: number) => void;
  /** Resolves when a body of this length may be parsed: of large ones, one in each turn of the event loop. */
  turn(length: number): Promise<void> | undefined;
}

/** Returns an empty inbox. */
export function createInbox(limits = INBOX_LIMITS): Inbox {
  let bytesTogether = 0;
  let lastTurn = Promise.resolve();

  function ensureRoom(moreBytes: number): void {
    if (bytesTogether + moreBytes > limits.togetherBytes)
      throw unavailable('Too many large bodies come in at one time.');
  }

  return {
    open({ headers }, response) {
      if (Number(headers['content-length'] ?? 0) >= limits.largeBytes) ensureRoom(1);
      let counted = 0;
      return (received) => {
        // One that is closed already would never be counted down.
        if (received < limits.largeBytes || response.destroyed) return;
        ensureRoom(received - counted);
        if (counted === 0) {
          response.once('close', () => {
            bytesTogether -= counted;
          });
        }
        bytesTogether += received - counted;
        counted = received;
      };
    },

    turn(length) {
      if (length < limits.largeBytes) return undefined;
      lastTurn = lastTurn.then(() => nextTurn());
      return lastTurn;
    },
  };
}
