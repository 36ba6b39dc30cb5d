// Where a body ends: if two readers of a request disagree on it, one of them takes a part of the
// body for the next request. RFC 9112, sections 6 and 11.2; RFC 9110, section 8.6.
import { bytes, call, get, HOST, NOTE, post } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const coded = (coding: string, body = '0\r\n\r\n') =>
  post(`Transfer-Encoding: ${coding}\r\n`, body);

/**
 * A request that would store a note. Inside a body or after a refusal it must not be carried out.
 */
const HIDDEN = `POST /notes HTTP/1.1\r\n${HOST}Content-Length: ${NOTE.length}\r\n\r\n${NOTE}`;
const IN_ITS_LENGTH = `Content-Length: ${HIDDEN.length + 5}\r\n`;

const NUMBERS: RawTable = {
  'two lengths that differ': [
    post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello!'),
    'bad-request',
  ],
  'two lengths that agree': [
    post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'),
    'bad-request',
  ],
  'two lengths, written differently': [
    post('Content-Length: 5\r\ncontent-length: 05\r\n', 'hello'),
    'bad-request',
  ],
  'a list of lengths': [post('Content-Length: 5, 5\r\n', 'hello'), 'bad-request'],
  'two numbers': [post('Content-Length: 5 5\r\n', 'hello'), 'bad-request'],
  'a negative length': [post('Content-Length: -1\r\n'), 'bad-request'],
  'a negative length of a GET': [get('Content-Length: -1\r\n'), 'bad-request'],
  'a length with a sign': [post('Content-Length: +5\r\n', 'hello'), 'bad-request'],
  'a length in hexadecimal': [post('Content-Length: 0x5\r\n', 'hello'), 'bad-request'],
  'a length in letters': [post('Content-Length: five\r\n', 'hello'), 'bad-request'],
  'a length with a fraction': [post('Content-Length: 5.0\r\n', 'hello'), 'bad-request'],
  'a length with an exponent': [post('Content-Length: 5e0\r\n', 'hello'), 'bad-request'],
  'a length with a separator': [post('Content-Length: 1_0\r\n', 'hello'), 'bad-request'],
  'a length with a unit': [post('Content-Length: 5b\r\n', 'hello'), 'bad-request'],
  'a length with a parameter': [post('Content-Length: 5;a=b\r\n', 'hello'), 'bad-request'],
  'a length in quotes': [post('Content-Length: "5"\r\n', 'hello'), 'bad-request'],
  'a length with a NUL': [post('Content-Length: 5\0\r\n', 'hello'), 'bad-request'],
  'a length in digits outside ASCII': [
    bytes(post('Content-Length: \xb2\r\n', 'ab')),
    'bad-request',
  ],
  'an empty length': [post('Content-Length: \r\n'), 'bad-request'],
  'a length of 2^64': [post('Content-Length: 18446744073709551616\r\n'), 'bad-request'],
  'a length of thirty digits': [post(`Content-Length: ${'9'.repeat(30)}\r\n`), 'bad-request'],
  'a length that a number cannot hold exactly': [
    post('Content-Length: 9007199254740993\r\n'),
    'payload-too-large',
  ],
  'a length of a terabyte': [post('Content-Length: 1099511627776\r\n'), 'payload-too-large'],
  'a length of a terabyte in a GET': [
    get('Content-Length: 1099511627776\r\n'),
    'payload-too-large',
  ],
  'a body without a length': [post('', NOTE), 'bad-request'],
  'a length of nothing': [post('Content-Length: 0\r\n'), 'bad-request'],
  'a length that ends inside the body': [post('Content-Length: 10\r\n', NOTE), 'bad-request'],
  'a length with leading zeros': [post('Content-Length: 0024\r\n', NOTE), 201],
  'a length with spaces around it': [post('Content-Length:   24  \r\n', NOTE), 201],
  'a length after a tab': [post('Content-Length:\t24\r\n', NOTE), 201],
  // Valid, but Node's parser may refuse it.
  'a length followed by a tab': [post('Content-Length: 24\t\r\n', NOTE), 201, 'bad-request'],
  'more bytes than the length': [post('Content-Length: 24\r\n', `${NOTE}${NOTE}`), 201],
  'a GET with a body': [`${get('Content-Length: 5\r\n')}hello`, 200],
  'a DELETE with a body': [
    `${call('DELETE', 'Content-Length: 5\r\n', '/notes/0')}hello`,
    'not-found',
  ],
};

const CODINGS: RawTable = {
  'a length and chunks': [
    post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'bad-request',
  ],
  'chunks and a length': [
    post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
    'bad-request',
  ],
  'a coding that does not end in chunked': [coded('gzip'), 'bad-request'],
  'chunked, and then another coding': [coded('chunked, gzip'), 'bad-request'],
  'chunked, and then identity': [coded('chunked, identity'), 'bad-request'],
  'chunked and another coding on two lines': [
    coded('chunked\r\nTransfer-Encoding: gzip'),
    'bad-request',
  ],
  'identity as a coding': [coded('identity'), 'bad-request'],
  'an empty coding': [coded(''), 'bad-request'],
  'an empty coding before chunked': [
    coded('\r\nTransfer-Encoding: chunked'),
    'not-implemented',
    'bad-request',
  ],
  'an empty coding after chunked': [
    coded('chunked\r\nTransfer-Encoding:'),
    'not-implemented',
    'bad-request',
  ],
  'a coding that ends like chunked': [coded('xchunked'), 'bad-request'],
  'a coding that begins like chunked': [coded('chunkedx'), 'bad-request'],
  'chunked with a space inside': [coded('chun ked'), 'bad-request'],
  'chunked in quotes': [coded('"chunked"'), 'bad-request'],
  'chunked with a parameter': [coded('chunked;q=1'), 'bad-request', 'not-implemented'],
  'chunked after a vertical tab': [coded('\vchunked'), 'bad-request'],
  'chunked after a NUL': [coded('\0chunked'), 'bad-request'],
  'chunked on a folded line': [coded('\r\n chunked'), 'bad-request'],
  'a coding with a space before its colon': [
    post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
    'bad-request',
  ],
  'another coding before chunked': [coded('gzip, chunked'), 'not-implemented'],
  'another coding before chunked, on its own line': [
    coded('gzip\r\nTransfer-Encoding: chunked'),
    'not-implemented',
    'bad-request',
  ],
  'an unknown coding before chunked': [coded('x, chunked'), 'not-implemented'],
  'chunked twice': [coded('chunked, chunked'), 'not-implemented', 'bad-request'],
  'chunked twice, on two lines': [
    coded('chunked\r\nTransfer-Encoding: chunked'),
    'not-implemented',
    'bad-request',
  ],
  'chunks in HTTP/1.0': [
    get('Transfer-Encoding: chunked\r\n', '/notes', 'HTTP/1.0'),
    'bad-request',
  ],
  'chunked in upper case': [coded('CHUNKED', `18\r\n${NOTE}\r\n0\r\n\r\n`), 201],
  'chunked with spaces around it': [coded('  chunked  ', `18\r\n${NOTE}\r\n0\r\n\r\n`), 201],
  'chunked after a tab': [coded('\tchunked', `18\r\n${NOTE}\r\n0\r\n\r\n`), 201],
  // Valid, but Node's parser may refuse it.
  'chunked followed by a tab': [
    coded('chunked\t', `18\r\n${NOTE}\r\n0\r\n\r\n`),
    201,
    'bad-request',
  ],
  'chunked without a space before it': [
    post('Transfer-Encoding:chunked\r\n', `18\r\n${NOTE}\r\n0\r\n\r\n`),
    201,
  ],
  'a name similar to Transfer-Encoding': [
    post(`Transfer_Encoding: chunked\r\nContent-Length: ${NOTE.length}\r\n`, NOTE),
    201,
  ],
};

const HIDDEN_REQUESTS: RawTable = {
  'hidden after chunks beside a length': [
    post(`Transfer-Encoding: chunked\r\n${IN_ITS_LENGTH}`, `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden in the length beside chunks': [
    post(`${IN_ITS_LENGTH}Transfer-Encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after chunks that only some parsers see': [
    post(`${IN_ITS_LENGTH}Transfer-Encoding: xchunked\r\n`, `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after chunks on a line that only some parsers see': [
    post(`${IN_ITS_LENGTH}x: y\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after chunks in a folded line': [
    post(`${IN_ITS_LENGTH}x: y\r\n Transfer-Encoding: chunked\r\n`, `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after two codings': [
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after the shorter of two lengths': [
    post(`Content-Length: 5\r\n${IN_ITS_LENGTH}`, `hello${HIDDEN}`),
    'bad-request',
  ],
  'hidden in a chunk of HTTP/1.0': [
    `POST /notes HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n` +
      `0\r\n\r\n${HIDDEN}`,
    'bad-request',
  ],
  'hidden after a chunk with a wrong end': [
    post('Transfer-Encoding: chunked\r\n', `5\r\nhelloXX0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden in a chunk extension with a line feed': [
    post('Transfer-Encoding: chunked\r\n', `5;a\nhello\r\n0\r\n\r\n${HIDDEN}`),
    'bad-request',
  ],
  'hidden after headers that end with line feeds': [
    `GET /notes HTTP/1.1\r\n${HOST}\n\n${HIDDEN}`,
    'bad-request',
  ],
  'hidden after headers that end with carriage returns': [
    `GET /notes HTTP/1.1\r\n${HOST}\r\r${HIDDEN}`,
    'bad-request',
  ],
  'hidden in the body of a GET': [`${get(`Content-Length: ${HIDDEN.length}\r\n`)}${HIDDEN}`, 200],
  'hidden in the body of a HEAD': [
    `${call('HEAD', `Content-Length: ${HIDDEN.length}\r\n`)}${HIDDEN}`,
    200,
  ],
  'hidden in the body of OPTIONS': [
    `${call('OPTIONS', `Content-Length: ${HIDDEN.length}\r\n`)}${HIDDEN}`,
    204,
  ],
  'hidden in a body that is refused': [
    `${post(`Content-Type: text/plain\r\nContent-Length: ${HIDDEN.length}\r\n`)}${HIDDEN}`,
    'unsupported-media-type',
  ],
  'hidden in a length beside an empty coding': [
    `POST /notes HTTP/1.1\r\n${HOST}Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nhello${HIDDEN}`,
    'bad-request',
  ],
  'hidden after an unsupported version': [
    `POST /notes HTTP/2.0\r\n${HOST}Connection: keep-alive\r\nContent-Length: 5\r\n\r\n` +
      `hello${HIDDEN}`,
    'http-version-not-supported',
  ],
  'hidden after CONNECT': [`${call('CONNECT', '', 'localhost:80')}${HIDDEN}`, 'method-not-allowed'],
  'hidden after an upgrade': [
    `${get('Connection: Upgrade\r\nUpgrade: websocket\r\n')}${HIDDEN}`,
    200,
  ],
  'hidden after a request that closes': [`${get()}${HIDDEN}`, 200],
};

/** The tables by their titles. */
export const LENGTHS: Readonly<Record<string, RawTable>> = {
  'exactly one number': NUMBERS,
  'transfer coding is chunked, without a length': CODINGS,
  'hidden requests are not carried out': HIDDEN_REQUESTS,
};
