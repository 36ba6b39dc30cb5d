// What is wrong with a request that node:http lets pass: each check throws the Problem that answers it.
import type { IncomingMessage } from 'node:http';
import { isJson } from './media-type.ts';
import { Problem } from './problem.ts';
import { HTTP_LIMITS } from './server.ts';

/** The host and port of RFC 9112, section 3.2: a name, an IPv4 address or a bracketed IPv6 address. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Checks what holds for every request: HTTP/1.0 or 1.1 (else 505), not too many header lines (else 431), exactly one
 * valid host in 1.1 (else 400), no transfer coding but chunked (else 501; 400 for an empty one and in HTTP/1.0), no
 * expectation but 100-continue (else 417). RFC 9110, RFC 9112.
 */
export function checkMessage({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('http-version-not-supported', 'This service speaks HTTP/1.1 and HTTP/1.0.');
  }
  // A name and a value for each line.
  if (rawHeaders.length / 2 > HTTP_LIMITS.headerCount) {
    throw new Problem('request-header-fields-too-large', `A request has ${HTTP_LIMITS.headerCount} headers at most.`);
  }
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    throw new Problem('bad-request', 'The request needs exactly one valid host header.');
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (httpVersion === '1.0') throw new Problem('bad-request', 'HTTP/1.0 has no transfer-encoding.');
    if (coding === '') throw new Problem('bad-request', 'The transfer-encoding is empty.');
    if (coding.toLowerCase() !== 'chunked') {
      throw new Problem('not-implemented', 'The only transfer-encoding that is understood is chunked.');
    }
  }
  if (headers.expect && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', 'The only expectation that is understood is 100-continue.');
  }
}

/** Checks that a body is declared as JSON in UTF-8, as it is, or not declared at all; else 415. */
export function checkMediaType({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (type !== undefined && !isJson(type)) {
    throw unsupported(
      'The body must be JSON in UTF-8: send content-type: application/json ' +
        '(with curl: --json DATA, or -H "content-type: application/json" beside --data).',
    );
  }
  if (encoding !== 'identity') throw unsupported('The body must be sent without a content-encoding.');
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported-media-type', detail, {
    headers: ['accept', 'application/json', 'accept-encoding', 'identity'],
  });
}

/** `headers` joins or drops repeated lines; only the raw ones tell how many there were. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
