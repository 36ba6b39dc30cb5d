// What browsers do on behalf of other sites (interface, section 6): their writes are refused, a loopback service is not
// reached by a name that somebody pointed to it (DNS rebinding), and sites that are allowed may read the answers (CORS).
import type { IncomingMessage } from 'node:http';
import { Problem } from '../http/problem.ts';
import type { Reply } from '../http/reply.ts';

const LOOPBACK_HOST = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/i;

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** How long a browser may remember what a preflight allowed: as long as the most patient one does. */
const PREFLIGHT_S = 7_200;

/** What a script of another site may read of an answer beside its body (Fetch Standard, "CORS-safelisted response-header"). */
const EXPOSED =
  'accept, allow, etag, location, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';

const PREFLIGHT_HEADERS = [
  ...['access-control-allow-methods', 'GET, HEAD, POST, PUT, DELETE'],
  ...['access-control-allow-headers', 'authorization, content-type, x-api-key, x-request-id'],
  ...['access-control-max-age', String(PREFLIGHT_S)],
];

/** Throws forbidden if the host is no name of this machine, nor one of `hosts` (without port). One that is not sent passes. */
export function checkHost(message: IncomingMessage, hosts: ReadonlySet<string>): void {
  const name = hostOf(message)
    .replace(/\.?(?::\d*)?$/, '')
    .toLowerCase();
  if (name !== '' && !LOOPBACK_HOST.test(name) && !hosts.has(name)) {
    throw new Problem('forbidden', 'This service has no such host name.');
  }
}

/** Throws forbidden if a browser sends the write on behalf of a site that is none of `origins`. */
export function checkWrite(message: IncomingMessage, origins: ReadonlySet<string>): void {
  const { method, headers } = message;
  if (SAFE_METHODS.has(method)) return;
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  if (origin === undefined && site === undefined) return;
  if (origin !== undefined && origins.has(origin)) return;
  const foreign =
    site === undefined ? !isOriginOf(hostOf(message), origin) : site === 'cross-site' || site === 'same-site';
  if (foreign) throw new Problem('forbidden', 'Writes from other sites are not allowed.');
}

/** Returns the headers by which a browser lets a site of `origins` read the answer. */
export function corsHeaders({ headers }: IncomingMessage, origins: ReadonlySet<string>): readonly string[] {
  const { origin } = headers;
  const allowed = origin !== undefined && origins.has(origin);
  const vary = ['vary', 'origin'];
  return allowed ? ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED, ...vary] : vary;
}

/** Returns the answer to a browser that asks what a site of `origins` may do; undefined if the request is none of these. */
export function preflightReply({ method, headers }: IncomingMessage, origins: ReadonlySet<string>): Reply | undefined {
  const asks = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  if (!asks || headers.origin === undefined || !origins.has(headers.origin)) return undefined;
  return { status: 204, headers: PREFLIGHT_HEADERS };
}

/** The host that a request is for: that of an absolute target comes before the header (RFC 9112, section 3.2.2). */
function hostOf({ url = '', headers }: IncomingMessage): string {
  return ABSOLUTE.exec(url)?.[1] ?? headers.host ?? '';
}

function isOriginOf(host: string, origin = ''): boolean {
  if (host === '' || !/^https?:/.test(origin) || !URL.canParse(origin)) return false;
  const { protocol, host: expected } = new URL(origin);
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === expected;
}
