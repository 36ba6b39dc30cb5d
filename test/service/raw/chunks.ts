// Chunked bodies: sizes, extensions, line ends and trailers. RFC 9112, section 7.1; RFC 9110,
// section 6.5.
import { call, chunked, get, NOTE } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const HEAD = NOTE.slice(0, 5);
const REST = NOTE.slice(5);
const LAST_CHUNK = '0\r\n\r\n';
/** The note in two chunks. `line` gives the size of the second one, with its line end. */
const sized = (line: string) => chunked(`5\r\n${HEAD}\r\n${line}${REST}\r\n0\r\n\r\n`);
const trailed = (lines: string) => chunked(`18\r\n${NOTE}\r\n0\r\n${lines}\r\n`);

const SIZES: RawTable = {
  'bad-request': {
    ...each(
      chunked,
      ...['zz\r\n', '\r\n', '-1\r\n', '10000000000000000\r\n', `${'f'.repeat(20)}\r\n`],
      ...['2\r\nhello\r\n0\r\n\r\n', '7\r\nhello\r\n0\r\n\r\n', '0\r\n\r\n'],
    ),
    ...each(
      (size) => sized(`${size}\r\n`),
      ...['+13', '0x13', '13h', ' 13', '13\t', '13.0', '13\0', ';a=b'],
    ),
    'an invalid size in a body that is not read': `${get('Transfer-Encoding: chunked\r\n')}zz\r\n`,
  },
  'bad-request or 201': { 'a size followed by a space': sized('13 \r\n') },
  'payload-too-large': {
    'a size of a terabyte': chunked(`10000000000\r\n${'x'.repeat(1_100_000)}`),
    'chunks beyond the limit': chunked(`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(17)),
  },
  201: {
    'a size with leading zeros': sized('00000013\r\n'),
    'a size in lower case': chunked(`18\r\n${NOTE}\r\na\r\n${' '.repeat(10)}\r\n0\r\n\r\n`),
    'a size in upper case': chunked(`18\r\n${NOTE}\r\nA\r\n${' '.repeat(10)}\r\n0\r\n\r\n`),
    'a last size of several zeros': chunked(`18\r\n${NOTE}\r\n0000\r\n\r\n`),
    'chunks of a byte': chunked(`${[...NOTE].map((each) => `1\r\n${each}\r\n`).join('')}0\r\n\r\n`),
  },
  200: { 'a GET in chunks': `${get('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n` },
  'not-found': {
    'a DELETE in chunks': call('DELETE', 'Transfer-Encoding: chunked\r\n', '/notes/0') + LAST_CHUNK,
  },
};

const ENDS: RawTable = {
  'bad-request': {
    'bare line feeds': chunked('5\nhello\n0\n\n'),
    'a size that ends with a bare line feed': sized('13\n'),
    'a size that ends with a bare carriage return': sized('13\r'),
    'a size that ends with two carriage returns': sized('13\r\r\n'),
    'a chunk that ends with a bare line feed': chunked(`18\r\n${NOTE}\n0\r\n\r\n`),
    'a chunk that ends with a bare carriage return': chunked(`18\r\n${NOTE}\r0\r\n\r\n`),
    'a chunk without an end': chunked(`18\r\n${NOTE}0\r\n\r\n`),
    'an empty line between chunks': chunked(`5\r\n${HEAD}\r\n\r\n13\r\n${REST}\r\n0\r\n\r\n`),
    'a body that ends with a bare line feed': chunked(`18\r\n${NOTE}\r\n0\r\n\n`),
  },
};

const EXTENSIONS: RawTable = {
  'bad-request or payload-too-large': {
    'an endless extension': chunked(`5;${'x'.repeat(20_000)}`),
  },
  'bad-request': each(
    (extension) => sized(`13${extension}\r\n`),
    // Control characters, a quote that is not closed, a line break in quotes, a comma.
    ...[';a\nb', ';a\rb', ';a\0b', ';a="b', ';a="\r\n"', ',a=b'],
  ),
  201: {
    ...each(
      (extension) => sized(`13${extension}\r\n`),
      ...[';a=b', ';a', ';a="b c;d\\""', ';a=b;c;d="e"'],
    ),
    'an extension of the last chunk': chunked(`18\r\n${NOTE}\r\n0;a=b\r\n\r\n`),
  },
};

const TRAILERS: RawTable = {
  'request-header-fields-too-large': {
    'endless trailers': chunked(`0\r\nx: ${'y'.repeat(20_000)}`),
  },
  'bad-request': each(
    trailed,
    ...['x\r\n', ': x\r\n', 'x : y\r\n', 'x: y\r\n z\r\n', 'x: \0\r\n', 'x: y\n'],
  ),
  201: each(
    trailed,
    ...['x: y\r\n', 'x: y\r\n'.repeat(500), '__proto__: y\r\n'],
    ...['Authorization: Bearer x\r\n', 'Content-Type: text/plain\r\n'],
  ),
  '201 or bad-request': {
    // They must be ignored (RFC 9110, section 6.5.1); a careful parser refuses them.
    'a length among the trailers': trailed('Content-Length: 5\r\n'),
    'a coding among the trailers': trailed('Transfer-Encoding: chunked\r\n'),
  },
};

/** The tables by their titles. */
export const CHUNKS: Readonly<Record<string, RawTable>> = {
  'sizes are hexadecimal': SIZES,
  'line ends': ENDS,
  'extensions are ignored': EXTENSIONS,
  'trailers are ignored': TRAILERS,
};
