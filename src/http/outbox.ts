// What large answers take up while they are on their way: clients that ask for many and read slowly must not fill the
// memory of the process.
import type { ServerResponse } from 'node:http';
import { unavailable } from './problem.ts';
import type { Reply } from './reply.ts';

/** From how many characters on answers are counted, and how many bytes those on their way may reach. */
export const OUTBOX_LIMITS = { largeCharacters: 16_384, togetherBytes: 268_435_456 };

/** The large answers that are on their way. */
export interface Outbox {
  /** Throws service-unavailable while there is no room for another large answer. */
  ensureRoom(): void;
  /**
   * Returns `reply` as it is to be sent, and counts it, if it is large, until `response` closes. Throws
   * service-unavailable if there is no room for it.
   */
  admit(reply: Reply, response: ServerResponse): Reply;
}

/** Returns an empty outbox. It may overflow by the answer that fills it, whose size nobody knew before. */
export function createOutbox(limits = OUTBOX_LIMITS): Outbox {
  let bytesOnTheirWay = 0;

  function ensureRoom(): void {
    if (bytesOnTheirWay >= limits.togetherBytes) {
      throw unavailable('Too many large answers wait for clients that read slowly.');
    }
  }

  return {
    ensureRoom,
    admit(reply, response) {
      // One that is closed already would never be counted down.
      if ((reply.body?.length ?? 0) < limits.largeCharacters || response.destroyed) return reply;
      ensureRoom();
      // As bytes, which is what they take up: Node would hold on to the text beside them until they are sent.
      const body = Buffer.from(reply.body ?? '');
      bytesOnTheirWay += body.length;
      response.once('close', () => {
        bytesOnTheirWay -= body.length;
      });
      return { ...reply, body };
    },
  };
}
