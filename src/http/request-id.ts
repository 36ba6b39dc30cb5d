// Request ids: those of the clients, or new ones.
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Returns the id that a client has sent, if it is well-formed, or a new UUID. */
export function chooseRequestId({ 'x-request-id': sent }: IncomingHttpHeaders): string {
  const isUsable = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent);
  return isUsable ? sent : randomUUID();
}
