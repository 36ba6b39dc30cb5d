// What the key of a request allows.
import { endpoint } from '../contract/endpoint.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';

const NO_STORE = ['cache-control', 'no-store'];

/** Returns the route that describes the key of its request. */
export function keyRoute(): Route {
  return endpoint('GET', '/key', ({ call }) => {
    const { name, access, expiresAt } = call.admission.key ?? {};
    return jsonReply(200, JSON.stringify({ name, access, expires_at: expiresAt }), NO_STORE);
  });
}
