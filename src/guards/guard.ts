// Decides who may use the service and how often, before a request is routed: origin and host (403),
// keys (401), rate (429), in this order.
import type { IncomingMessage } from 'node:http';
import { Problem } from '../http/problem.ts';
import type { Admission, Guard } from '../http/route.ts';
import { clientAddress } from './client-address.ts';
import type { Keys } from './keys.ts';
import { checkHost, corsHeaders, isForeignWrite, preflightReply } from './origin.ts';
import { type Quota, type RateLimiter, WINDOW_S } from './rate-limit.ts';

/** What a guard asks of requests. */
export interface GuardOptions {
  /** Undefined: no key is required. */
  readonly keys: Keys | undefined;
  /** Requests that a client may make in {@link WINDOW_S} seconds; undefined: any number. */
  readonly rateLimit: number | undefined;
  readonly trustProxy: boolean;
  /** The origins whose scripts may read and write. */
  readonly corsOrigins: readonly string[];
  /** Where clients reach the service. */
  readonly baseUrl: string;
  /** Whether the service listens on a loopback address. */
  readonly loopback: boolean;
  readonly createLimiter: (name: string, quota: number) => RateLimiter;
}

/** The first segment of paths that never require a key nor count towards a rate. */
const NEVER_LIMITED: ReadonlySet<string> = new Set(['health', 'livez', 'readyz']);

/** The first segment of paths that never require a key: alone, and with everything below. */
const OPEN: ReadonlySet<string> = new Set([...NEVER_LIMITED, '', 'openapi.json']);
const OPEN_BELOW: ReadonlySet<string> = new Set(['docs', 'problems']);

/** The names of the limiters, which answers show. */
const DEFAULT = 'default';
const WRONG_KEYS = 'wrong-keys';

/** Wrong keys that an address may send in {@link WINDOW_S} seconds. */
const MAX_WRONG_KEYS = 10;

/** The client that sent a request, by its key, or why it is refused. */
type Identity =
  | { readonly client: string }
  | { readonly refusal: Problem; readonly headers: readonly string[] };

/** Returns the guard for `options`. */
export function createGuard(options: GuardOptions): Guard {
  const { keys, rateLimit, trustProxy, corsOrigins, baseUrl, loopback, createLimiter } = options;
  const { origin, hostname } = new URL(baseUrl);
  const hosts = new Set([hostname]);
  const sites = new Set(corsOrigins);
  const writers = new Set([...corsOrigins, origin]);
  const limiter = rateLimit === undefined ? undefined : createLimiter(DEFAULT, rateLimit);
  const wrongKeys = createLimiter(WRONG_KEYS, MAX_WRONG_KEYS);

  async function identifyByKey(message: IncomingMessage, keys: Keys): Promise<Identity> {
    const holder = keys.holderOf(message.headers);
    if (holder === 'none') {
      return refuse(unauthorized('This service asks for a key: send "authorization: Bearer KEY".'));
    }
    const address = clientAddress(message, trustProxy);
    const quota = await (holder === 'wrong' ? wrongKeys.take(address) : wrongKeys.look(address));
    // Beyond the limit even a right key is refused: the answer must not tell whether a guess was
    // right.
    if (!quota.allowed) {
      return refuse(
        tooMany('Too many wrong keys.', quota),
        quotaHeaders(WRONG_KEYS, MAX_WRONG_KEYS, quota),
      );
    }
    if (holder === 'wrong') return refuse(unauthorized('This key is not known.'));
    return { client: holder.key };
  }

  async function countRequest(client: string): Promise<Omit<Admission, 'reply'>> {
    if (!limiter || rateLimit === undefined) return { headers: [] };
    const quota = await limiter.take(client);
    const headers = quotaHeaders(DEFAULT, rateLimit, quota);
    return quota.allowed ? { headers } : refuse(tooMany('Too many requests.', quota), headers);
  }

  return async (message, path) => {
    if (loopback) checkHost(message, hosts);
    const cors = sites.size > 0 ? corsHeaders(message, sites) : [];
    if (isForeignWrite(message, writers)) {
      return {
        headers: cors,
        refusal: new Problem('forbidden', 'Writes from other sites are not allowed.'),
      };
    }
    const preflight = preflightReply(message, sites);
    if (preflight) return { headers: cors, reply: preflight };
    const [first = ''] = path;
    const isWhole = path.length === 1;
    const isOpen = (isWhole && OPEN.has(first)) || OPEN_BELOW.has(first);
    const identity = keys && !isOpen ? await identifyByKey(message, keys) : undefined;
    if (identity && 'refusal' in identity) {
      return { ...identity, headers: [...cors, ...identity.headers] };
    }
    if (!limiter || (isWhole && NEVER_LIMITED.has(first))) return { headers: cors };
    const counted = await countRequest(identity?.client ?? clientAddress(message, trustProxy));
    return { ...counted, headers: [...cors, ...counted.headers] };
  };
}

function refuse(refusal: Problem, headers: readonly string[] = []) {
  return { refusal, headers };
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers: the quota (`q`) in a window (`w`), what
 * remains (`r`) and until when (`t`).
 */
function quotaHeaders(name: string, quota: number, { remaining, resetS }: Quota): string[] {
  const policy = `"${name}";q=${quota};w=${WINDOW_S}`;
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
