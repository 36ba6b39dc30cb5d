// Refuses requests that break a rule of HTTP but that node:http accepts. Each check throws the
// Problem to answer with.
import type { IncomingMessage } from 'node:http';
import { HTTP_LIMITS } from './limits.ts';
import { isJson } from './media-type.ts';
import { Problem } from './problem.ts';

/** A name, an IPv4 address or a bracketed IPv6 address, and a port (RFC 9112, section 3.2). */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Checks a request message: the HTTP version (else 505), the number of headers (431), exactly one
 * valid host in HTTP/1.1 (400), no transfer coding but chunked (501; 400 if it is empty or in
 * HTTP/1.0), no expectation but 100-continue (417). See RFC 9110 and RFC 9112.
 */
export function checkMessage(message: IncomingMessage): void {
  const { httpVersion, rawHeaders } = message;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('http-version-not-supported', 'This service speaks HTTP/1.1 and HTTP/1.0.');
  }
  // Each header line is a name and a value.
  if (rawHeaders.length / 2 > HTTP_LIMITS.headerCount) {
    const detail = `A request may have at most ${HTTP_LIMITS.headerCount} headers.`;
    throw new Problem('request-header-fields-too-large', detail);
  }
  checkHostHeader(message);
  checkTransferCoding(message);
  checkExpectation(message);
}

/** Throws 415 if a body is declared as anything but JSON in UTF-8 or has a content coding. */
export function checkMediaType({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (type !== undefined && !isJson(type)) {
    throw unsupported(
      'The body must be JSON in UTF-8: send content-type: application/json ' +
        '(with curl: --json DATA, or -H "content-type: application/json" beside --data).',
    );
  }
  if (encoding !== 'identity')
    throw unsupported('The body must be sent without a content-encoding.');
}

function checkHostHeader({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    throw new Problem('bad-request', 'The request needs exactly one valid host header.');
  }
}

function checkTransferCoding({ httpVersion, headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return;
  if (httpVersion === '1.0') throw new Problem('bad-request', 'HTTP/1.0 has no transfer-encoding.');
  if (coding === '') throw new Problem('bad-request', 'The transfer-encoding is empty.');
  if (coding.toLowerCase() !== 'chunked') {
    const detail = 'The only transfer-encoding that is understood is chunked.';
    throw new Problem('not-implemented', detail);
  }
}

function checkExpectation({ httpVersion, headers }: IncomingMessage): void {
  if (headers.expect && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue') {
    const detail = 'The only expectation that is understood is 100-continue.';
    throw new Problem('expectation-failed', detail);
  }
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported-media-type', detail, {
    headers: ['accept', 'application/json', 'accept-encoding', 'identity'],
  });
}

/** Counts the host lines; `headers` has only one of them. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
