// Chunked bodies: sizes, extensions, line ends and trailers. RFC 9112, section 7.1; RFC 9110,
// section 6.5.
import { call, chunked, get, NOTE } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const HEAD = NOTE.slice(0, 5);
const REST = NOTE.slice(5);
/** The note in two chunks. `line` gives the size of the second one, with its line end. */
const sized = (line: string) => chunked(`5\r\n${HEAD}\r\n${line}${REST}\r\n0\r\n\r\n`);
const trailed = (lines: string) => chunked(`18\r\n${NOTE}\r\n0\r\n${lines}\r\n`);

const SIZES: RawTable = {
  'a size that is not a number': [chunked('zz\r\n'), 'bad-request'],
  'an empty size': [chunked('\r\n'), 'bad-request'],
  'a negative size': [chunked('-1\r\n'), 'bad-request'],
  'a size with a sign': [sized('+13\r\n'), 'bad-request'],
  'a size with the prefix 0x': [sized('0x13\r\n'), 'bad-request'],
  'a size followed by a letter': [sized('13h\r\n'), 'bad-request'],
  'a size after a space': [sized(' 13\r\n'), 'bad-request'],
  'a size followed by a space': [sized('13 \r\n'), 'bad-request', 201],
  'a size followed by a tab': [sized('13\t\r\n'), 'bad-request'],
  'a size with a fraction': [sized('13.0\r\n'), 'bad-request'],
  'a size with a NUL': [sized('13\0\r\n'), 'bad-request'],
  'a size of 2^64': [chunked('10000000000000000\r\n'), 'bad-request'],
  'a size of twenty digits': [chunked(`${'f'.repeat(20)}\r\n`), 'bad-request'],
  'a size that is too small': [chunked('2\r\nhello\r\n0\r\n\r\n'), 'bad-request'],
  'a size that is too large': [chunked('7\r\nhello\r\n0\r\n\r\n'), 'bad-request'],
  'an extension without a size': [sized(';a=b\r\n'), 'bad-request'],
  'an invalid size in a body that is not read': [
    `${get('Transfer-Encoding: chunked\r\n')}zz\r\n`,
    'bad-request',
  ],
  'a body of no chunks': [chunked('0\r\n\r\n'), 'bad-request'],
  'a size of a terabyte': [chunked(`10000000000\r\n${'x'.repeat(1_100_000)}`), 'payload-too-large'],
  'chunks that together exceed the limit': [
    chunked(`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(17)),
    'payload-too-large',
  ],
  'a size with leading zeros': [sized('00000013\r\n'), 201],
  'a size in lower case': [chunked(`18\r\n${NOTE}\r\na\r\n${' '.repeat(10)}\r\n0\r\n\r\n`), 201],
  'a size in upper case': [chunked(`18\r\n${NOTE}\r\nA\r\n${' '.repeat(10)}\r\n0\r\n\r\n`), 201],
  'a last size of several zeros': [chunked(`18\r\n${NOTE}\r\n0000\r\n\r\n`), 201],
  'chunks of one byte': [
    chunked(`${[...NOTE].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
    201,
  ],
  'a GET in chunks': [`${get('Transfer-Encoding: chunked\r\n')}5\r\nhello\r\n0\r\n\r\n`, 200],
  'a DELETE in chunks': [
    `${call('DELETE', 'Transfer-Encoding: chunked\r\n', '/notes/0')}0\r\n\r\n`,
    'not-found',
  ],
};

const ENDS: RawTable = {
  'bare line feeds': [chunked('5\nhello\n0\n\n'), 'bad-request'],
  'a size that ends with a bare line feed': [sized('13\n'), 'bad-request'],
  'a size that ends with a bare carriage return': [sized('13\r'), 'bad-request'],
  'a size that ends with two carriage returns': [sized('13\r\r\n'), 'bad-request'],
  'a chunk that ends with a bare line feed': [chunked(`18\r\n${NOTE}\n0\r\n\r\n`), 'bad-request'],
  'a chunk that ends with a bare carriage return': [
    chunked(`18\r\n${NOTE}\r0\r\n\r\n`),
    'bad-request',
  ],
  'a chunk without an end': [chunked(`18\r\n${NOTE}0\r\n\r\n`), 'bad-request'],
  'an empty line between chunks': [
    chunked(`5\r\n${HEAD}\r\n\r\n13\r\n${REST}\r\n0\r\n\r\n`),
    'bad-request',
  ],
  'a body that ends with a bare line feed': [chunked(`18\r\n${NOTE}\r\n0\r\n\n`), 'bad-request'],
};

const EXTENSIONS: RawTable = {
  'an endless extension': [chunked(`5;${'x'.repeat(20_000)}`), 'bad-request', 'payload-too-large'],
  'an extension with a line feed': [sized('13;a\nb\r\n'), 'bad-request'],
  'an extension with a carriage return': [sized('13;a\rb\r\n'), 'bad-request'],
  'an extension with a NUL': [sized('13;a\0b\r\n'), 'bad-request'],
  'a quoted extension that is not closed': [sized('13;a="b\r\n'), 'bad-request'],
  'a quoted extension with a line break': [sized('13;a="\r\n"\r\n'), 'bad-request'],
  'a comma before an extension': [sized('13,a=b\r\n'), 'bad-request'],
  'an extension': [sized('13;a=b\r\n'), 201],
  'an extension without a value': [sized('13;a\r\n'), 201],
  'a quoted extension': [sized('13;a="b c;d\\""\r\n'), 201],
  'several extensions': [sized('13;a=b;c;d="e"\r\n'), 201],
  'an extension of the last chunk': [chunked(`18\r\n${NOTE}\r\n0;a=b\r\n\r\n`), 201],
};

const TRAILERS: RawTable = {
  'endless trailers': [chunked(`0\r\nx: ${'y'.repeat(20_000)}`), 'request-header-fields-too-large'],
  'a trailer without a colon': [trailed('x\r\n'), 'bad-request'],
  'a trailer without a name': [trailed(': x\r\n'), 'bad-request'],
  'a trailer with a space before its colon': [trailed('x : y\r\n'), 'bad-request'],
  'a folded trailer': [trailed('x: y\r\n z\r\n'), 'bad-request'],
  'a trailer with a NUL': [trailed('x: \0\r\n'), 'bad-request'],
  'a trailer that ends with a bare line feed': [trailed('x: y\n'), 'bad-request'],
  'a trailer': [trailed('x: y\r\n'), 201],
  'many trailers': [trailed('x: y\r\n'.repeat(500)), 201],
  'a key among the trailers': [trailed('Authorization: Bearer x\r\n'), 201],
  'a content type among the trailers': [trailed('Content-Type: text/plain\r\n'), 201],
  'a trailer called __proto__': [trailed('__proto__: y\r\n'), 201],
  // They must be ignored (RFC 9110, section 6.5.1); a careful parser refuses them.
  'a length among the trailers': [trailed('Content-Length: 5\r\n'), 201, 'bad-request'],
  'a coding among the trailers': [trailed('Transfer-Encoding: chunked\r\n'), 201, 'bad-request'],
};

/** The tables by their titles. */
export const CHUNKS: Readonly<Record<string, RawTable>> = {
  'sizes are hexadecimal': SIZES,
  'line ends': ENDS,
  'extensions are ignored': EXTENSIONS,
  'trailers are ignored': TRAILERS,
};
