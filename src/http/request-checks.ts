// Checks requests that node:http accepts although they break a rule. Each check throws the Problem
// to answer with.
import type { IncomingMessage } from 'node:http';
import { HTTP_LIMITS } from './limits.ts';
import { isJson } from './media-type.ts';
import { Problem } from './problem.ts';

/**
 * Host and port (RFC 9112, section 3.2): a name, an IPv4 address or an IPv6 address in brackets.
 */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Checks a request message: the HTTP version (else 505), the number of headers (else 431), exactly
 * one valid host in HTTP/1.1 (else 400), no transfer coding but chunked (else 501; 400 if it is
 * empty or in HTTP/1.0), no expectation but 100-continue (else 417). See RFC 9110 and RFC 9112.
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

/**
 * Checks that a body is declared as JSON in UTF-8 without a content coding, or not declared at all;
 * else 415.
 */
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
    throw new Problem(
      'not-implemented',
      'The only transfer-encoding that is understood is chunked.',
    );
  }
}

function checkExpectation({ httpVersion, headers }: IncomingMessage): void {
  if (headers.expect && httpVersion === '1.1' && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem(
      'expectation-failed',
      'The only expectation that is understood is 100-continue.',
    );
  }
}

function unsupported(detail: string): Problem {
  return new Problem('unsupported-media-type', detail, {
    headers: ['accept', 'application/json', 'accept-encoding', 'identity'],
  });
}

/** Counts the host lines. `headers` would show only one of them. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}
