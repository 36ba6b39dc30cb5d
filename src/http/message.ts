// Reads the head of a request: rejects what node:http accepts although it violates HTTP or a limit,
// and parses the target. `new URL` would read the path `//evil/x` as a host.
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HTTP_LIMITS } from './limits.ts';
import { Problem } from './problem.ts';

/** An optional host (IPv6 in brackets) and an optional port (RFC 9110, section 7.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/** Checks version (505), headers (431), host (400), coding (400, 501), expectation (417). */
export function checkMessage({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  const isOld = httpVersion === '1.0';
  if (httpVersion !== '1.1' && !isOld)
    throw new Problem('http-version-not-supported', 'This service supports HTTP/1.1 and HTTP/1.0.');
  if (rawHeaders.length / 2 > HTTP_LIMITS.headerCount) {
    const detail = `A request may have at most ${HTTP_LIMITS.headerCount} headers.`;
    throw new Problem('request-header-fields-too-large', detail);
  }
  // Node joins several hosts with a comma and a space.
  const { host = isOld ? '' : undefined } = headers;
  if (host === undefined || !HOST.test(host))
    throw new Problem('bad-request', 'The request must have exactly one valid host header.');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && isOld)
    throw new Problem('bad-request', 'HTTP/1.0 does not support transfer-encoding.');
  if (coding === '') throw new Problem('bad-request', 'The transfer-encoding header is empty.');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new Problem('not-implemented', 'The only supported transfer-encoding is chunked.');
  // HTTP/1.0 ignores expectations (RFC 9110, section 10.1.1).
  if (headers.expect && !isOld && headers.expect.toLowerCase() !== '100-continue')
    throw new Problem('expectation-failed', 'The only supported expectation is 100-continue.');
}

/** The decoded segments of the path (`/notes/7` has two, `*` none), and the query without `?`. */
export interface Target {
  readonly segments: readonly string[];
  readonly query: string;
}

/** Parses a path, an absolute URL, or the `*` of OPTIONS (RFC 9112, section 3.2); throws 400. */
export function parseTarget({ method, url: text = '' }: Partial<IncomingMessage>): Target {
  if (method === 'OPTIONS' && text === '*') return { segments: [], query: '' };
  const origin = text.startsWith('/') ? text : toOriginForm(text);
  if (text.includes('#')) throw new Problem('bad-request', mustEncode('A # in the request target'));
  if (origin === undefined) throw new Problem('bad-request', 'The request target is not a path.');
  const questionMark = origin.indexOf('?');
  const path = questionMark === -1 ? origin : origin.slice(0, questionMark);
  const query = questionMark === -1 ? '' : origin.slice(questionMark + 1);
  // URLSearchParams would replace what is not UTF-8, and would keep a % without digits.
  if (query.includes('%')) decode(query, 'query');
  const [, ...sent] = path.split('/');
  const segments = path.includes('%') ? sent.map((each) => decode(each, 'path')) : sent;
  return { segments, query };
}

/** Returns the detail for a target that is not percent-encoded. */
export function mustEncode(what: string): string {
  return `${what} must be percent-encoded (with curl: --get --data-urlencode 'q=TEXT').`;
}

function toOriginForm(absolute: string): string | undefined {
  const rest = /^https?:\/\/[^/?#@]+(|[/?#].*)$/is.exec(absolute)?.[1];
  return rest === undefined || rest.startsWith('/') ? rest : `/${rest}`;
}

function decode(text: string, part: 'path' | 'query'): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    const detail = `The percent-encoding of the ${part} is not valid; a % itself is %25.`;
    throw new Problem('bad-request', detail, { cause });
  }
}

/** Returns the request id that a client has sent, if it is well-formed, or a new UUID. */
export function chooseRequestId({ 'x-request-id': sent }: IncomingHttpHeaders): string {
  const isUsable = typeof sent === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sent);
  return isUsable ? sent : randomUUID();
}
