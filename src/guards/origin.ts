// Refuses browsers' writes for other sites and DNS rebinding, and lets allowed origins read (CORS).
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { Problem } from '../http/problem.ts';

const LOOPBACK_HOST = /^(?:127(?:\.\d+){3}|\[::1\]|(?:.+\.)?localhost)\.?(?::\d*)?$/i;

const EXPOSED =
  'accept, accept-patch, allow, content-location, etag, idempotent-replayed, link, location, ' +
  'ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';

const PREFLIGHT_HEADERS = [
  ...['access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
  'access-control-allow-headers',
  'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, ' +
    'mcp-method, mcp-name, mcp-protocol-version, traceparent, tracestate, x-api-key, x-request-id',
  // The maximum of Chromium, in seconds.
  ...['access-control-max-age', '7200'],
];

/**
 * Throws forbidden unless the host is missing, a loopback name or `own` (without a port), or is an
 * address where `allowsAddresses`: pages of other sites have names.
 */
export function checkHost(message: IncomingMessage, own: string, allowsAddresses: boolean): void {
  const host = hostOf(message);
  if (LOOPBACK_HOST.test(host)) return;
  const name = host.replace(/\.?(?::\d*)?$/, '').toLowerCase();
  if (name === '' || name === own || `${name}.` === own) return;
  if (!allowsAddresses || isIP(name.replace(/^\[(.*)\]$/, '$1')) === 0)
    throw new Problem('forbidden', 'This service has no such host name.');
}

/**
 * Whether a browser sent this for an origin that is neither our own nor in `origins`. With
 * `trustsSite`, an origin counts as our own if the browser says that it is.
 */
export function isForeign(
  message: IncomingMessage,
  origins: ReadonlySet<string>,
  trustsSite: boolean,
): boolean {
  const { origin, 'sec-fetch-site': site } = message.headers;
  if (origin !== undefined && origins.has(origin)) return false;
  if (site === 'cross-site' || site === 'same-site') return true;
  if (origin === undefined || (site !== undefined && trustsSite)) return false;
  // Browsers write both in lower case and without a default port, but proxies may add the port.
  const host = hostOf(message);
  const own = [`http://${host.replace(/:80$/, '')}`, `https://${host.replace(/:443$/, '')}`];
  return !own.includes(origin);
}

/** Returns the headers that let a page of `origins` read the answer, or only `vary` for others. */
export function corsHeaders({ headers }: IncomingMessage, origins: ReadonlySet<string>): string[] {
  const { origin = '' } = headers;
  const vary = ['vary', 'origin'];
  return origins.has(origin)
    ? ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED, ...vary]
    : vary;
}

/** Returns the reply to a CORS preflight from `origins`; undefined for any other request. */
export function preflightReply(message: IncomingMessage, origins: ReadonlySet<string>) {
  const { method, headers } = message;
  const asks = headers['access-control-request-method'] !== undefined;
  const isPreflight = method === 'OPTIONS' && asks && origins.has(headers.origin ?? '');
  return isPreflight ? { status: 204, headers: PREFLIGHT_HEADERS } : undefined;
}

/** The host of an absolute target takes precedence over the header (RFC 9112, section 3.2.2). */
function hostOf({ url = '', headers }: IncomingMessage): string {
  const absolute = url.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(url);
  return absolute?.[1] ?? headers.host ?? '';
}
