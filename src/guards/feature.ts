// What the key of a request allows.
import { endpoint } from '../contract/endpoint.ts';
import type { Feature } from '../feature.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Keys } from './keys.ts';

/** The description of a client's own key at /key. */
export function ownKey(keys: Keys | undefined): Feature {
  const route = endpoint('GET', '/key', ({ call }) => {
    const key = keys?.entries.find(({ digest }) => digest === call.key?.digest);
    if (!key) throw new Problem('not-found', 'This service has no keys.');
    const { name, access, expiresAt } = key;
    const json = JSON.stringify({ name, access, expires_at: expiresAt });
    return jsonReply(200, json, ['cache-control', 'no-store']);
  });
  return { routes: () => [route] };
}
