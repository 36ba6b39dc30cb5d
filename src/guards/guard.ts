// Who may come in, and how often: what is looked at before a request is routed, in the order of interface section 4 (403,
// 401, 429).
import type { IncomingMessage } from 'node:http';
import type { Guard } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';
import { clientAddress } from './client-address.ts';
import type { Keys } from './keys.ts';
import { checkHost, checkWrite, corsHeaders, preflightReply } from './origin.ts';
import { type Quota, type RateLimiter, WINDOW_S } from './rate-limit.ts';

type MaybePromise<Value> = Value | Promise<Value>;

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
  /** Makes the limiters, which have names. */
  readonly createLimiter: (name: string, quota: number) => RateLimiter;
}

/** Who asks how the service is needs no key, and may ask as often as they like. */
const NEVER_LIMITED: ReadonlySet<string> = new Set(['health', 'livez', 'readyz']);

/** What is open to everybody: that, the entrance and the description, and two with all that is below. */
const OPEN: ReadonlySet<string> = new Set([...NEVER_LIMITED, '', 'openapi.json']);
const OPEN_BELOW: ReadonlySet<string> = new Set(['docs', 'problems']);

/** What the limiters are called, in the answers as well. */
const DEFAULT = 'default';
const WRONG_KEYS = 'wrong-keys';

/** How many wrong keys an address may send in {@link WINDOW_S} seconds. */
const WRONG_KEYS_MOST = 10;

/** Returns the guard that `options` ask for. */
export function createGuard(options: GuardOptions): Guard {
  const { keys, rateLimit, trustProxy, corsOrigins, baseUrl, loopback, createLimiter } = options;
  const { origin, hostname } = new URL(baseUrl);
  const hosts = new Set([hostname]);
  const sites = new Set(corsOrigins);
  const writers = new Set([...corsOrigins, origin]);
  const limiter = rateLimit === undefined ? undefined : createLimiter(DEFAULT, rateLimit);
  const wrongKeys = createLimiter(WRONG_KEYS, WRONG_KEYS_MOST);

  /** The client by its key; throws unauthorized, or too-many-requests if its address has sent too many wrong ones. */
  function holderOf(message: IncomingMessage, { holderOf }: Keys, headers: string[]): MaybePromise<string> {
    const holder = holderOf(message.headers);
    if (holder === 'none') throw unauthorized('This service asks for a key: send "authorization: Bearer KEY".');
    const address = clientAddress(message, trustProxy);
    // Whoever has used them up is told nothing of further keys, not even of a right one: it may be the next guess.
    return after(holder === 'wrong' ? wrongKeys.take(address) : wrongKeys.look(address), (quota) => {
      if (!quota.allowed) {
        headers.push(...quotaHeaders(WRONG_KEYS, WRONG_KEYS_MOST, quota));
        throw tooMany('Too many wrong keys.', quota);
      }
      if (holder === 'wrong') throw unauthorized('This key is not known.');
      return holder.key;
    });
  }

  function countRequest(
    client: string,
    quota: number,
    limiter: RateLimiter,
    headers: string[],
  ): MaybePromise<undefined> {
    return after(limiter.take(client), (left) => {
      headers.push(...quotaHeaders(DEFAULT, quota, left));
      if (!left.allowed) throw tooMany('Too many requests.', left);
      return undefined;
    });
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
    const isLimited = !(isWhole && NEVER_LIMITED.has(first));
    return after(keys && !isOpen ? holderOf(message, keys, headers) : undefined, (holder) => {
      if (rateLimit === undefined || !limiter || !isLimited) return undefined;
      return countRequest(holder ?? clientAddress(message, trustProxy), rateLimit, limiter, headers);
    });
  };
}

/** Goes on at once where there is nothing to wait for: a promise more would cost each request a turn. */
function after<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
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
