// Headers: syntax, size and number, expectations, and requests for features that do not exist.
// RFC 9112, section 5; RFC 9110, sections 5, 7.6, 7.8 and 10.1.1.
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { bare, bytes, CLOSE, call, get, HOST, NOTE, post } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const TOO_LARGE = 'request-header-fields-too-large';
const { headerCount } = HTTP_LIMITS;

/** A GET with `count` headers, including the two that every request has. */
const counted = (count: number, line = 'x: y\r\n', version?: string) =>
  get(line.repeat(count - 2), '/notes', version);
const json = (headers: string) => post(`${headers}Content-Length: ${NOTE.length}\r\n`, NOTE);

const FORMS: RawTable = {
  'a space before the colon': [get('x : y\r\n'), 'bad-request'],
  'a tab before the colon': [get('x\t: y\r\n'), 'bad-request'],
  'a space inside the name': [get('x y: z\r\n'), 'bad-request'],
  'no colon': [get('nonsense\r\n'), 'bad-request'],
  'no name': [get(': x\r\n'), 'bad-request'],
  'a colon alone': [get(':\r\n'), 'bad-request'],
  'a folded value': [get('x: 1\r\n 2\r\n'), 'bad-request'],
  'a value folded with a tab': [get('x: 1\r\n\t2\r\n'), 'bad-request'],
  'a value that begins on the next line': [get('x:\r\n 1\r\n'), 'bad-request'],
  'a space before the first header': [bare(` ${HOST}`), 'bad-request'],
  'a line of spaces': [get(' \r\n'), 'bad-request'],
  'a line that ends with a bare line feed': [get('x: 1\ny: 2\r\n'), 'bad-request'],
  'a line that ends with a bare carriage return': [get('x: 1\ry: 2\r\n'), 'bad-request'],
  'a line that ends with two carriage returns': [get('x: 1\r\r\n'), 'bad-request'],
  'a NUL in a value': [get('x: a\0b\r\n'), 'bad-request'],
  'a control character in a value': [get('x: a\x01b\r\n'), 'bad-request'],
  'an escape in a value': [get('x: a\x1b[2Jb\r\n'), 'bad-request'],
  'a DEL in a value': [get('x: a\x7fb\r\n'), 'bad-request'],
  'a NUL in a name': [get('x\0: 1\r\n'), 'bad-request'],
  'a control character in a name': [get('x\x01: 1\r\n'), 'bad-request'],
  'a name that is not ASCII': [bytes(get('caf\xe9: 1\r\n')), 'bad-request'],
  'the first header without a name': [bare(`: x\r\n${HOST}`), 'bad-request'],
  ...Object.fromEntries(
    [...'"(),/;<=>?@[\\]{}'].map((character) => [
      `${character} in a name`,
      [get(`x${character}: 1\r\n`), 'bad-request'],
    ]),
  ),
  'every character that a name may have': [get("!#$%&'*+-.^_`|~0aZ: 1\r\n"), 200],
  'bytes beyond ASCII in a value': [bytes(get('x: \xe9\xff\x80\r\n')), 200],
  'a tab in a value': [get('x: a\tb\r\n'), 200],
  'an empty value': [get('x:\r\ny: \t \r\n'), 200],
  'a value of colons': [get('x::::\r\n'), 200],
  'the names of inherited members': [
    get('__proto__: x\r\nconstructor: y\r\ntoString: z\r\nhasOwnProperty: 1\r\n__proto__: 2\r\n'),
    200,
  ],
};

const SIZES: RawTable = {
  '17 KB in one value': [get(`x: ${'y'.repeat(17_000)}\r\n`), TOO_LARGE],
  '17 KB in one name': [get(`${'y'.repeat(17_000)}: 1\r\n`), TOO_LARGE],
  '17 KB on many lines': [get('name: value\r\n'.repeat(2_000)), TOO_LARGE],
  '17 KB of host': [bare(`Host: ${'a'.repeat(17_000)}\r\n${CLOSE}`), TOO_LARGE],
  // They are not part of the value, and no parser has to keep them.
  '17 KB of spaces': [get(`x:${' '.repeat(17_000)}y\r\n`), 200, TOO_LARGE],
  '17 KB of empty lines before the request': [`${'\r\n'.repeat(8_500)}${get()}`, 200, TOO_LARGE],
  'an endless value': [get(`x: ${'y'.repeat(1_000_000)}`), TOO_LARGE],
  'an endless name': [get('y'.repeat(1_000_000)), TOO_LARGE],
  'endless headers': [bare(HOST + 'x: y\r\n'.repeat(100_000)), TOO_LARGE],
  'as many as are allowed': [counted(headerCount), 200],
  'as many as are allowed, in HTTP/1.0': [counted(headerCount, 'x: y\r\n', 'HTTP/1.0'), 200],
  'one too many': [counted(headerCount + 1), TOO_LARGE],
  'one too many in HTTP/1.0': [counted(headerCount + 1, 'x: y\r\n', 'HTTP/1.0'), TOO_LARGE],
  'one cookie too many': [counted(headerCount + 1, 'Cookie: a=b\r\n'), TOO_LARGE],
  'one too many, each of a name that Node keeps once': [
    counted(headerCount + 1, 'Referer: a\r\n'),
    TOO_LARGE,
  ],
  'one too many, the last of them a second host': [
    counted(headerCount).replace(/\r\n$/, `${HOST}\r\n`),
    TOO_LARGE,
  ],
  'one too many for a path that is not there': [
    get('x: y\r\n'.repeat(headerCount), '/nothing'),
    TOO_LARGE,
  ],
  'one too many for a target that is malformed': [
    get('x: y\r\n'.repeat(headerCount), '/%zz'),
    TOO_LARGE,
  ],
  'one too many for HEAD': [call('HEAD', 'x: y\r\n'.repeat(headerCount)), TOO_LARGE],
  'one too many for OPTIONS *': [call('OPTIONS', 'x: y\r\n'.repeat(headerCount), '*'), TOO_LARGE],
  'one too many with a body': [json('x: y\r\n'.repeat(headerCount)), TOO_LARGE],
  'thousands of empty ones': [get('x:\r\n'.repeat(3_500)), TOO_LARGE],
  'two host lines, thousands of lines apart': [
    bare(`${HOST}${'x:\r\n'.repeat(2_500)}${HOST}${CLOSE}`),
    TOO_LARGE,
  ],
  'thousands of different ones': [
    get(Array.from({ length: 1_500 }, (_, index) => `x${index}: y\r\n`).join('')),
    TOO_LARGE,
  ],
  '15 KB in one value': [get(`x: ${'y'.repeat(15_000)}\r\n`), 200],
};

const EXPECTATIONS: RawTable = {
  'an unknown expectation': [post('Expect: foo\r\n'), 'expectation-failed'],
  'an unknown expectation of GET': [get('Expect: foo\r\n'), 'expectation-failed'],
  'an unknown expectation of HEAD': [call('HEAD', 'Expect: foo\r\n'), 'expectation-failed'],
  'an unknown expectation beside the known one': [
    post('Expect: 100-continue, foo\r\nContent-Length: 5\r\n'),
    'expectation-failed',
  ],
  'an unknown expectation on a second line': [
    post('Expect: 100-continue\r\nExpect: foo\r\nContent-Length: 5\r\n'),
    'expectation-failed',
  ],
  '100-continue with a parameter': [
    post('Expect: 100-continue;a=b\r\nContent-Length: 5\r\n'),
    'expectation-failed',
  ],
  '100-continue in quotes': [
    post('Expect: "100-continue"\r\nContent-Length: 5\r\n'),
    'expectation-failed',
  ],
  '101-continue': [post('Expect: 101-continue\r\nContent-Length: 5\r\n'), 'expectation-failed'],
  'an empty expectation': [get('Expect:\r\n'), 200],
  'an unknown expectation in HTTP/1.0': [get('Expect: foo\r\n', '/notes', 'HTTP/1.0'), 200],
};

const ASKING: RawTable = {
  'an upgrade to a WebSocket': [
    get('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'),
    200,
  ],
  'an upgrade to HTTP/2': [
    get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n'),
    200,
  ],
  'an upgrade to nothing': [get('Connection: Upgrade\r\nUpgrade:\r\n'), 200],
  'Connection: close in upper case': [bare(`${HOST}CONNECTION: CLOSE\r\n`), 200],
  'keep-alive and close': [bare(`${HOST}Connection: keep-alive, close\r\n`), 200],
  'keep-alive and close on two lines': [
    bare(`${HOST}Connection: keep-alive\r\nConnection: close\r\n`),
    200,
  ],
  'a Connection header that names Host': [get('Connection: Host\r\n'), 200],
  'a very long keep-alive': [get('Keep-Alive: timeout=999999999, max=999999999\r\n'), 200],
  'a Range header': [get('Range: bytes=0-5\r\n'), 200],
  'If-Modified-Since and If-Unmodified-Since': [
    get(
      'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n' +
        'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n',
    ),
    200,
  ],
  'If-Match and If-None-Match: the first comes first': [
    get('If-None-Match: *\r\nIf-Match: "x"\r\n'),
    'precondition-failed',
  ],
  'an invalid If-Modified-Since': [get('If-Modified-Since: yesterday\r\n'), 200],
  'an invalid Accept': [get('Accept: image/png;q=x, ;;;\r\n'), 200],
  'an Accept-Encoding that excludes everything': [
    get('Accept-Encoding: identity;q=0, *;q=0\r\n'),
    200,
  ],
  'another method in a header': [get('X-HTTP-Method-Override: DELETE\r\n'), 200],
  'another address in a header': [get('X-Forwarded-For: , nonsense\r\nForwarded: for=\r\n'), 200],
  'trailers and codings of the answer': [get('TE: trailers, gzip;q=2\r\n'), 200],
  'an invalid request id': [bytes(get('X-Request-Id: a b\xff\r\n')), 200],
  'an invalid content type': [json('Content-Type: nonsense\r\n'), 'unsupported-media-type'],
  'an empty content type': [json('Content-Type:\r\n'), 'unsupported-media-type'],
  'a content coding': [json('Content-Encoding: gzip\r\n'), 'unsupported-media-type'],
  'an unknown content coding': [json('Content-Encoding: x\r\n'), 'unsupported-media-type'],
};

/** The tables by their titles. */
export const HEADERS: Readonly<Record<string, RawTable>> = {
  'syntax of names and values': FORMS,
  'size and number are limited': SIZES,
  'unknown expectations are 417': EXPECTATIONS,
  'unsupported features are ignored': ASKING,
};
