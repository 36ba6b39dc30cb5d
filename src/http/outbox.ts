// What large answers take up while they are on their way: clients that ask for many and read slowly must not fill the
// memory of the process.
import type { ServerResponse } from 'node:http';
import { unavailable } from './problem.ts';
import type { Reply } from './reply.ts';

/** From which size on answers are counted, and how large they may be together; in characters, or bytes of a Buffer. */
export const OUTBOX_LIMITS = { large: 65_536, together: 268_435_456 };

/**
 * Returns a function that counts `reply` as on its way until `response` closes. It throws service-unavailable, and counts
 * nothing, where the large answers on their way leave no room for it; a first one always finds room.
 */
export function createOutbox(limits = OUTBOX_LIMITS): (reply: Reply, response: ServerResponse) => void {
  let onTheirWay = 0;
  return ({ body = '' }, response) => {
    const { length } = body;
    if (length < limits.large) return;
    if (onTheirWay > 0 && onTheirWay + length > limits.together) {
      throw unavailable('Too many large answers wait for clients that read slowly.');
    }
    onTheirWay += length;
    response.once('close', () => {
      onTheirWay -= length;
    });
  };
}
