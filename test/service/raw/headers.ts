// Headers: syntax, size and number, expectations, and requests for features that do not exist.
// RFC 9112, section 5; RFC 9110, sections 5, 7.6, 7.8 and 10.1.1.
import { HTTP_LIMITS } from '../../../src/http/limits.ts';
import { bare, bytes, CLOSE, call, get, HOST, NOTE, post } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const { headerCount } = HTTP_LIMITS;

/** A GET with `count` headers, including the two that every request has. */
const counted = (count: number, line = 'x: y\r\n', version?: string) =>
  get(line.repeat(count - 2), '/notes', version);
const json = (headers: string) => post(`${headers}Content-Length: ${NOTE.length}\r\n`, NOTE);

const FORMS: RawTable = {
  'bad-request': {
    ...each(
      (lines) => get(`${lines}\r\n`),
      // No name, no colon, or a space where there must be none.
      ...['x : y', 'x\t: y', 'x y: z', 'nonsense', ': x', ':', ' '],
      // Folded values and bare line ends.
      ...['x: 1\r\n 2', 'x: 1\r\n\t2', 'x:\r\n 1', 'x: 1\ny: 2', 'x: 1\ry: 2', 'x: 1\r'],
      // Control characters.
      ...['x: a\0b', 'x: a\x01b', 'x: a\x1b[2Jb', 'x: a\x7fb', 'x\0: 1', 'x\x01: 1'],
      ...[...'"(),/;<=>?@[\\]{}'].map((character) => `x${character}: 1`),
    ),
    'a name that is not ASCII': bytes(get('caf\xe9: 1\r\n')),
    'a space before the first header': bare(` ${HOST}`),
    'the first header without a name': bare(`: x\r\n${HOST}`),
  },
  200: {
    ...each((lines) => get(`${lines}\r\n`), "!#$%&'*+-.^_`|~0aZ: 1", 'x: a\tb', 'x::::'),
    'bytes beyond ASCII in a value': bytes(get('x: \xe9\xff\x80\r\n')),
    'an empty value': get('x:\r\ny: \t \r\n'),
    'the names of inherited members': get(
      '__proto__: x\r\nconstructor: y\r\ntoString: z\r\nhasOwnProperty: 1\r\n__proto__: 2\r\n',
    ),
  },
};

const SIZES: RawTable = {
  'request-header-fields-too-large': {
    '17 KB in one value': get(`x: ${'y'.repeat(17_000)}\r\n`),
    '17 KB in one name': get(`${'y'.repeat(17_000)}: 1\r\n`),
    '17 KB on many lines': get('name: value\r\n'.repeat(2_000)),
    '17 KB of host': bare(`Host: ${'a'.repeat(17_000)}\r\n${CLOSE}`),
    'an endless value': get(`x: ${'y'.repeat(1_000_000)}`),
    'an endless name': get('y'.repeat(1_000_000)),
    'endless headers': bare(HOST + 'x: y\r\n'.repeat(100_000)),
    'one too many': counted(headerCount + 1),
    'one too many in HTTP/1.0': counted(headerCount + 1, 'x: y\r\n', 'HTTP/1.0'),
    'one cookie too many': counted(headerCount + 1, 'Cookie: a=b\r\n'),
    'one too many, each of a name that Node keeps once': counted(headerCount + 1, 'Referer: a\r\n'),
    'one too many, the last of them a second host': counted(headerCount).replace(
      /\r\n$/,
      `${HOST}\r\n`,
    ),
    'one too many for a path that is not there': get('x: y\r\n'.repeat(headerCount), '/nothing'),
    'one too many for a target that is malformed': get('x: y\r\n'.repeat(headerCount), '/%zz'),
    'one too many for HEAD': call('HEAD', 'x: y\r\n'.repeat(headerCount)),
    'one too many for OPTIONS *': call('OPTIONS', 'x: y\r\n'.repeat(headerCount), '*'),
    'one too many with a body': json('x: y\r\n'.repeat(headerCount)),
    'thousands of empty ones': get('x:\r\n'.repeat(3_500)),
    'two host lines, thousands of lines apart': bare(
      `${HOST}${'x:\r\n'.repeat(2_500)}${HOST}${CLOSE}`,
    ),
    'thousands of different ones': get(
      Array.from({ length: 1_500 }, (_, index) => `x${index}: y\r\n`).join(''),
    ),
  },
  '200 or request-header-fields-too-large': {
    // They are not part of the value, and no parser has to keep them.
    '17 KB of spaces': get(`x:${' '.repeat(17_000)}y\r\n`),
    '17 KB of empty lines before the request': `${'\r\n'.repeat(8_500)}${get()}`,
  },
  200: {
    'as many as are allowed': counted(headerCount),
    'as many as are allowed, in HTTP/1.0': counted(headerCount, 'x: y\r\n', 'HTTP/1.0'),
    '15 KB in one value': get(`x: ${'y'.repeat(15_000)}\r\n`),
  },
};

const EXPECTATIONS: RawTable = {
  'expectation-failed': {
    ...each(
      (value) => post(`Expect: ${value}\r\nContent-Length: 5\r\n`),
      ...['foo', '100-continue, foo', '100-continue\r\nExpect: foo', '100-continue;a=b'],
      ...['"100-continue"', '101-continue'],
    ),
    ...each((method) => call(method, 'Expect: foo\r\n'), 'GET', 'HEAD'),
  },
  200: {
    'an empty expectation': get('Expect:\r\n'),
    'an unknown expectation in HTTP/1.0': get('Expect: foo\r\n', '/notes', 'HTTP/1.0'),
  },
};

const ASKING: RawTable = {
  200: {
    ...each(
      (lines) => get(`${lines}\r\n`),
      // Upgrades and connections.
      ...['Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13'],
      ...['Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA'],
      ...['Connection: Upgrade\r\nUpgrade:', 'Connection: Host'],
      ...['Keep-Alive: timeout=999999999, max=999999999'],
      // Ranges, conditions and negotiation.
      ...['Range: bytes=0-5', 'If-Modified-Since: yesterday', 'Accept: image/png;q=x, ;;;'],
      ...['Accept-Encoding: identity;q=0, *;q=0', 'TE: trailers, gzip;q=2'],
      // Another method or address.
      ...['X-HTTP-Method-Override: DELETE', 'X-Forwarded-For: , nonsense\r\nForwarded: for='],
    ),
    ...each(
      (lines) => bare(`${HOST}${lines}\r\n`),
      ...['CONNECTION: CLOSE', 'Connection: keep-alive, close'],
      ...['Connection: keep-alive\r\nConnection: close'],
    ),
    'an invalid request id': bytes(get('X-Request-Id: a b\xff\r\n')),
  },
  'unsupported-media-type': {
    'an invalid content type': json('Content-Type: nonsense\r\n'),
    'an empty content type': json('Content-Type:\r\n'),
    'two content types': json('Content-Type: application/json\r\nContent-Type: text/plain\r\n'),
  },
};

/** The tables by their titles. */
export const HEADERS: Readonly<Record<string, RawTable>> = {
  'syntax of names and values': FORMS,
  'size and number are limited': SIZES,
  'unknown expectations are 417': EXPECTATIONS,
  'unsupported features are ignored': ASKING,
};
