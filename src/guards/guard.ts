// Who may come in, and how often: what is looked at before a request is routed, in the order of interface section 4 (403,
// 401, 429).
import type { IncomingMessage } from 'node:http';
import type { Guard } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';
import { clientAddress } from './client-address.ts';
import type { Keys } from './keys.ts';
import { checkHost, checkWrite, corsHeaders, preflightReply } from './origin.ts';
import { createRateLimiter, type Quota, WINDOW_S } from './rate-limit.ts';

/** What is asked of requests. */
export interface GuardOptions {
  /** Undefined: everybody may come in. */
  readonly keys: Keys | undefined;
  /** Requests that a client may make in {@link WINDOW_S} seconds; undefined: any number. */
  readonly rateLimit: number | undefined;
  readonly trustProxy: boolean;
  /** The origins whose scripts may read and write. */
  readonly corsOrigins: readonly string[];
  /** Where clients reach the service. */
  readonly baseUrl: string;
  /** Whether only this machine reaches it. */
  readonly loopback: boolean;
}

/** What is open to everybody: the entrance, the health record and the description, and two with all that is below. */
const OPEN: ReadonlySet<string> = new Set(['', 'health', 'openapi.json']);
const OPEN_BELOW: ReadonlySet<string> = new Set(['docs', 'problems']);

const NEVER_LIMITED = 'health';

/** How many wrong keys an address may send in {@link WINDOW_S} seconds. */
const WRONG_KEYS_MOST = 10;

/** Returns the guard that `options` ask for. */
export function createGuard({ keys, rateLimit, trustProxy, corsOrigins, baseUrl, loopback }: GuardOptions): Guard {
  const { origin, hostname } = new URL(baseUrl);
  const hosts = new Set([hostname]);
  const sites = new Set(corsOrigins);
  const writers = new Set([...corsOrigins, origin]);
  const limiter = rateLimit === undefined ? undefined : createRateLimiter(rateLimit);
  const wrongKeys = createRateLimiter(WRONG_KEYS_MOST);

  /** The client by its key; throws unauthorized, or too-many-requests if its address has sent too many wrong ones. */
  function holderOf(message: IncomingMessage, { holderOf }: Keys, headers: string[]): string {
    const holder = holderOf(message.headers);
    if (holder === 'none') throw unauthorized('This service asks for a key: send "authorization: Bearer KEY".');
    const address = clientAddress(message, trustProxy);
    // Whoever has used them up is told nothing of further keys, not even of a right one: it may be the next guess.
    const quota = holder === 'wrong' ? wrongKeys.take(address) : wrongKeys.look(address);
    if (!quota.allowed) {
      headers.push(...quotaHeaders('wrong-keys', WRONG_KEYS_MOST, quota));
      throw tooMany('Too many wrong keys.', quota);
    }
    if (holder === 'wrong') throw unauthorized('This key is not known.');
    return holder.key;
  }

  return (message, path, headers) => {
    if (loopback) checkHost(message, hosts);
    if (sites.size > 0) headers.push(...corsHeaders(message, sites));
    checkWrite(message, writers);
    const preflight = preflightReply(message, sites);
    if (preflight) return preflight;
    const [first = ''] = path;
    const isWhole = path.length === 1;
    const isOpen = (isWhole && OPEN.has(first)) || OPEN_BELOW.has(first);
    const holder = keys && !isOpen ? holderOf(message, keys, headers) : undefined;
    if (rateLimit !== undefined && limiter && !(isWhole && first === NEVER_LIMITED)) {
      const quota = limiter.take(holder ?? clientAddress(message, trustProxy));
      headers.push(...quotaHeaders('default', rateLimit, quota));
      if (!quota.allowed) throw tooMany('Too many requests.', quota);
    }
    return undefined;
  };
}

/** The fields of draft-ietf-httpapi-ratelimit-headers: the quota (`q`) in a window (`w`), what remains (`r`) and until when (`t`). */
function quotaHeaders(name: string, most: number, { remaining, resetS }: Quota): string[] {
  const policy = `"${name}";q=${most};w=${WINDOW_S}`;
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${resetS}`];
}

function tooMany(what: string, { retryAfterS }: Quota): Problem {
  const plural = retryAfterS === 1 ? '' : 's';
  return new Problem('too-many-requests', `${what} Try again in ${retryAfterS} second${plural}.`, {
    headers: ['retry-after', String(retryAfterS)],
  });
}

function unauthorized(detail: string): Problem {
  return new Problem('unauthorized', detail, { headers: ['www-authenticate', 'Bearer'] });
}
