// Request ids: those of the clients, or new ones.
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Random digits for the next ids. */
let digits = '';

/** Returns the id that a client has sent, if it is well-formed, or a new UUID. */
export function chooseRequestId({ 'x-request-id': sent }: IncomingHttpHeaders): string {
  const isUsable = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent);
  return isUsable ? sent : createUuid();
}

/** Returns a UUID of version 4 (RFC 9562); joins fewer strings than `randomUUID`. */
function createUuid(): string {
  if (digits === '') digits = randomBytes(2_048).toString('hex');
  const next = digits;
  digits = next.slice(32);
  const begin = `${next.slice(0, 8)}-${next.slice(8, 12)}-4${next.slice(13, 16)}`;
  return `${begin}-a${next.slice(17, 20)}-${next.slice(20, 32)}`;
}
