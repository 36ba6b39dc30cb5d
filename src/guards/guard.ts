// Admits requests before routing: by host and origin (403), key (401), rate (429), access (403).
import type { IncomingMessage } from 'node:http';
import { Problem } from '../http/problem.ts';
import type { Admission, ClientKey, Guard } from '../http/route.ts';
import { clientNetwork } from './client-address.ts';
import type { Keys } from './keys.ts';
import { checkHost, corsHeaders, isForeign, preflightReply } from './origin.ts';
import { type Quota, type RateLimiter, WINDOW_S } from './rate-limit.ts';

/** The options that decide which requests are admitted. */
export interface GuardOptions {
  readonly keys: Keys | undefined;
  /** Requests that a client may make in {@link WINDOW_S} seconds; undefined: any number. */
  readonly rateLimit: number | undefined;
  readonly trustProxy: boolean;
  readonly corsOrigins: readonly string[];
  readonly baseUrl: string;
  /** Whether an option gives the base URL: then its host and addresses are the only ones. */
  readonly hasBaseUrl: boolean;
  readonly loopback: boolean;
  readonly createLimiter: (name: string, quota: number) => RateLimiter;
}

/** The paths of one segment that neither require a key nor count towards a rate limit. */
const UNLIMITED: ReadonlySet<string> = new Set(['health', 'livez', 'readyz']);
/** The paths of one segment that require no key. A 401 at `register` would mean OAuth. */
const OPEN: ReadonlySet<string> = new Set([...UNLIMITED, '', 'openapi.json', 'register']);
/** The first segments of paths that require no key. A 401 below .well-known would mean OAuth. */
const OPEN_BELOW: ReadonlySet<string> = new Set(['docs', 'problems', '.well-known']);
/** The path of one segment where tools check the access. */
const ASSISTANTS = 'mcp';
/** The paths of one segment where other sites may not even read. */
const PRIVATE: ReadonlySet<string> = new Set([ASSISTANTS, 'export']);

/** The methods that other sites and keys with `access=read` may use. */
const READ_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

const NO_READS = 'Other sites may not read this.';
const NO_WRITES = 'Writes from other sites are not allowed.';
const NO_KEY =
  'This service asks for a key: send "authorization: Bearer KEY", or with curl: -u :KEY.';
const INVALID_TOKEN = 'Bearer error="invalid_token"';
const DEFAULT = 'default';
const WRONG_KEYS = 'wrong-keys';

/** Wrong keys that an address may send in {@link WINDOW_S} seconds. */
const MAX_WRONG_KEYS = 10;

/** Returns the guard for `options`. */
export function createGuard(options: GuardOptions): Guard {
  const { keys, rateLimit, trustProxy, corsOrigins, hasBaseUrl, loopback, createLimiter } = options;
  const { origin, hostname } = new URL(options.baseUrl);
  const readOrigins = new Set(corsOrigins);
  const writeOrigins = new Set([...corsOrigins, origin]);
  const limit = rateLimit && requestLimit(createLimiter(DEFAULT, rateLimit), rateLimit);
  const wrongKeys = createLimiter(WRONG_KEYS, MAX_WRONG_KEYS);

  async function identifyByKey(message: IncomingMessage, keys: Keys): Promise<ClientKey | Problem> {
    const key = keys.keyIn(message.headers);
    if (key === 'none') return unauthorized(NO_KEY);
    const address = clientNetwork(message, trustProxy);
    const quota = await (key === 'wrong' ? wrongKeys.take(address) : wrongKeys.peek(address));
    // Beyond the limit a right key is refused too, so that the answer does not confirm a guess.
    if (!quota.allowed) return tooMany('Too many wrong keys.', WRONG_KEYS, MAX_WRONG_KEYS, quota);
    return key === 'wrong' ? unauthorized('This key is not known.') : key;
  }

  async function admit(
    message: IncomingMessage,
    headers: readonly string[],
    usedKeys: Keys | undefined,
    usedLimit: typeof limit,
    mayRead: boolean,
  ): Promise<Admission> {
    const key = usedKeys && (await identifyByKey(message, usedKeys));
    if (key instanceof Problem) return { headers, refusal: key };
    const sender: Admission = { headers, key };
    if (key?.isOver)
      return { ...sender, refusal: unauthorized('The key has expired.', INVALID_TOKEN) };
    const admission = usedLimit
      ? await usedLimit(key?.digest ?? clientNetwork(message, trustProxy), sender)
      : sender;
    const isAllowed = mayRead || key?.access !== 'read';
    return isAllowed || admission.refusal ? admission : { ...admission, refusal: readOnly() };
  }

  return function guard(message, segments) {
    const [first = ''] = segments;
    const isSingle = segments.length === 1;
    const isUnlimited = isSingle && UNLIMITED.has(first);
    // Load balancers ask for the health of a host by any name.
    if (loopback || (hasBaseUrl && !isUnlimited)) checkHost(message, hostname, !loopback);
    const cors = readOrigins.size > 0 ? corsHeaders(message, readOrigins) : [];
    const isPrivate = isSingle && PRIVATE.has(first);
    const isRead = READ_METHODS.has(message.method);
    if ((isPrivate || !isRead) && isForeign(message, writeOrigins, !isPrivate)) {
      const refusal = new Problem('forbidden', isRead ? NO_READS : NO_WRITES);
      return { headers: cors, refusal };
    }
    const preflight = readOrigins.size > 0 && preflightReply(message, readOrigins);
    if (preflight) return { headers: cors, reply: preflight };
    const usedKeys = (isSingle && OPEN.has(first)) || OPEN_BELOW.has(first) ? undefined : keys;
    const usedLimit = isUnlimited ? undefined : limit;
    if (!usedKeys && !usedLimit) return { headers: cors };
    const mayRead = isRead || (isSingle && first === ASSISTANTS);
    return admit(message, cors, usedKeys, usedLimit, mayRead);
  };
}

/** Limits the requests of each client to `size` in a window, and shows its quota in the answers. */
function requestLimit(limiter: RateLimiter, size: number) {
  function decide(client: string, sender: Admission, quota: Quota): Admission {
    if (!quota.allowed)
      return { ...sender, refusal: tooMany('Too many requests.', DEFAULT, size, quota) };
    return {
      ...sender,
      headers: [...sender.headers, ...quotaHeaders(DEFAULT, size, quota)],
      charge: (requests) => charge(client, sender, requests),
    };
  }

  /** Counts further requests, at most the rest of a whole quota: otherwise no wait would help. */
  async function charge(client: string, sender: Admission, requests: number): Promise<Admission> {
    const count = Math.min(requests, size - 1);
    const quota = await limiter.take(client, count);
    if (quota.allowed) return decide(client, sender, quota);
    // The retry counts as a request, too.
    const retried = await limiter.peek(client, count + 1);
    return decide(client, sender, { ...retried, allowed: false });
  }

  return async (client: string, sender: Admission): Promise<Admission> =>
    decide(client, sender, await limiter.take(client));
}

/** The fields of draft-ietf-httpapi-ratelimit-headers; after `t` seconds the quota is full. */
function quotaHeaders(name: string, size: number, { remaining, resetS }: Quota): string[] {
  const policy = `"${name}";q=${size};w=${WINDOW_S}`;
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${resetS}`];
}

function tooMany(what: string, name: string, size: number, quota: Quota): Problem {
  const { retryAfterS } = quota;
  const detail = `${what} Try again in ${retryAfterS} second${retryAfterS === 1 ? '' : 's'}.`;
  const headers = ['retry-after', String(retryAfterS), ...quotaHeaders(name, size, quota)];
  return new Problem('too-many-requests', detail, { headers });
}

/** The challenge is that of RFC 6750, section 3. */
function unauthorized(detail: string, challenge = 'Bearer'): Problem {
  return new Problem('unauthorized', detail, { headers: ['www-authenticate', challenge] });
}

function readOnly(): Problem {
  const headers = ['www-authenticate', 'Bearer error="insufficient_scope"'];
  return new Problem('insufficient-access', 'This key may only read.', { headers });
}
