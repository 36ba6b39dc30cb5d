// Rejects requests that node:http accepts although they violate HTTP or a limit. Each check throws
// the Problem that answers the request.
import type { IncomingMessage } from 'node:http';
import { HTTP_LIMITS } from './limits.ts';
import { Problem } from './problem.ts';

/** An optional host (IPv6 in brackets) and an optional port (RFC 9110, section 7.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Checks, in this order, the HTTP version (505), the number of headers (431), the host (400), the
 * transfer coding (400 or 501) and the expectation (417), as RFC 9110 and RFC 9112 require.
 */
export function checkMessage(message: IncomingMessage): void {
  const { httpVersion, rawHeaders } = message;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('http-version-not-supported', 'This service supports HTTP/1.1 and HTTP/1.0.');
  }
  // `rawHeaders` alternates names and values.
  if (rawHeaders.length / 2 > HTTP_LIMITS.headerCount) {
    const detail = `A request may have at most ${HTTP_LIMITS.headerCount} headers.`;
    throw new Problem('request-header-fields-too-large', detail);
  }
  checkHostHeader(message);
  checkTransferCoding(message);
  checkExpectation(message);
}

function checkHostHeader({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    throw new Problem('bad-request', 'The request must have exactly one valid host header.');
  }
}

function checkTransferCoding({ httpVersion, headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return;
  if (httpVersion === '1.0')
    throw new Problem('bad-request', 'HTTP/1.0 does not support transfer-encoding.');
  if (coding === '') throw new Problem('bad-request', 'The transfer-encoding header is empty.');
  if (coding.toLowerCase() !== 'chunked') {
    const detail = 'The only supported transfer-encoding is chunked.';
    throw new Problem('not-implemented', detail);
  }
}

/** HTTP/1.0 ignores expectations (RFC 9110, section 10.1.1). */
function checkExpectation({ httpVersion, headers }: IncomingMessage): void {
  if (headers.expect && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue') {
    const detail = 'The only supported expectation is 100-continue.';
    throw new Problem('expectation-failed', detail);
  }
}

/** Counts the host headers; `message.headers` keeps only the first. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
