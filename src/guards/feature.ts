// What the key of a request allows.
import { endpoint } from '../contract/endpoint.ts';
import type { Keys } from '../guards/keys.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';

/** Returns the route that describes the key of its request. */
export function keyRoute(keys: Keys | undefined): Route {
  return endpoint('GET', '/key', ({ call }) => {
    const key = call.key && keys?.entryOf(call.key);
    if (!key) throw new Problem('not-found', 'This service has no keys.');
    const { name, access, expiresAt } = key;
    const json = JSON.stringify({ name, access, expires_at: expiresAt });
    return jsonReply(200, json, ['cache-control', 'no-store']);
  });
}
