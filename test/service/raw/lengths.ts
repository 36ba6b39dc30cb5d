// Where a body ends: if two readers of a request disagree on it, one of them takes a part of the
// body for the next request. RFC 9112, sections 6 and 11.2; RFC 9110, section 8.6.
import { bytes, call, get, HOST, NOTE, post } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const coded = (coding: string, body = '0\r\n\r\n') =>
  post(`Transfer-Encoding: ${coding}\r\n`, body);

/** Inside a body or after a refusal, this request must not be carried out. */
const HIDDEN = `POST /notes HTTP/1.1\r\n${HOST}Content-Length: ${NOTE.length}\r\n\r\n${NOTE}`;
const NOTE_CHUNK = `18\r\n${NOTE}\r\n0\r\n\r\n`;
const IN_ITS_LENGTH = `Content-Length: ${HIDDEN.length + 5}\r\n`;

const NUMBERS: RawTable = {
  'bad-request': {
    ...each(
      (value) => post(`Content-Length: ${value}\r\n`, 'hello'),
      ...['5, 5', '5 5', '-1', '+5', '0x5', 'five', '5.0', '5e0', '1_0', '5b', '5;a=b', '"5"'],
      ...['5\0', '', '18446744073709551616', '9'.repeat(30), '0', '3'],
      // Several lengths, also if they agree.
      ...['5\r\nContent-Length: 6', '5\r\nContent-Length: 5', '5\r\ncontent-length: 05'],
    ),
    'a negative length of a GET': get('Content-Length: -1\r\n'),
    'a length in digits outside ASCII': bytes(post('Content-Length: \xb2\r\n', 'ab')),
    'a body without a length': post('', NOTE),
  },
  'payload-too-large': {
    ...each((value) => post(`Content-Length: ${value}\r\n`), '9007199254740993', '1099511627776'),
    'a length of a terabyte in a GET': get('Content-Length: 1099511627776\r\n'),
  },
  201: {
    ...each((value) => post(`Content-Length:${value}\r\n`, NOTE), ' 0024', '   24  ', '\t24'),
    'more bytes than the length': post('Content-Length: 24\r\n', `${NOTE}${NOTE}`),
  },
  // Valid, but Node's parser may refuse it.
  '201 or bad-request': { 'a tab after the length': post('Content-Length: 24\t\r\n', NOTE) },
  200: { 'a GET with a body': `${get('Content-Length: 5\r\n')}hello` },
  'not-found': {
    'a DELETE with a body': `${call('DELETE', 'Content-Length: 5\r\n', '/notes/0')}hello`,
  },
};

const CODINGS: RawTable = {
  'bad-request': {
    ...each(
      coded,
      ...['gzip', 'chunked, gzip', 'chunked, identity', 'chunked\r\nTransfer-Encoding: gzip'],
      ...['identity', '', 'xchunked', 'chunkedx'],
      ...['chun ked', '"chunked"', '\vchunked', '\0chunked'],
      '\r\n chunked',
    ),
    'a length and chunks': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
    'a coding with a space before its colon': post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
    'chunks in HTTP/1.0': get('Transfer-Encoding: chunked\r\n', '/notes', 'HTTP/1.0'),
  },
  'not-implemented or bad-request': each(
    coded,
    ...['\r\nTransfer-Encoding: chunked', 'chunked\r\nTransfer-Encoding:', 'chunked, chunked'],
    ...['gzip\r\nTransfer-Encoding: chunked', 'chunked\r\nTransfer-Encoding: chunked'],
    'chunked;q=1',
  ),
  'not-implemented': each(coded, 'gzip, chunked', 'x, chunked'),
  201: {
    ...each((coding) => coded(coding, NOTE_CHUNK), 'CHUNKED', '  chunked  ', '\tchunked'),
    'chunked without a space before it': post('Transfer-Encoding:chunked\r\n', NOTE_CHUNK),
    'a name similar to Transfer-Encoding': post(
      `Transfer_Encoding: chunked\r\nContent-Length: ${NOTE.length}\r\n`,
      NOTE,
    ),
  },
  // Valid, but Node's parser may refuse it.
  '201 or bad-request': { 'a tab after the coding': coded('chunked\t', NOTE_CHUNK) },
};

/** A chunked body, with or without a length, that ends before the hidden request. */
const hidden = (headers: string, body = `0\r\n\r\n${HIDDEN}`) => post(headers, body);
const kept = (line: string, headers: string, body: string) =>
  `POST /notes ${line}\r\n${HOST}Connection: keep-alive\r\n${headers}\r\n${body}${HIDDEN}`;
const WITH_LENGTH = `Content-Length: ${HIDDEN.length}\r\n`;

const HIDDEN_REQUESTS: RawTable = {
  'bad-request': {
    ...each(
      hidden,
      ...[`Transfer-Encoding: chunked\r\n${IN_ITS_LENGTH}`],
      ...[`${IN_ITS_LENGTH}Transfer-Encoding: chunked\r\n`],
      // Chunks that only some parsers see.
      ...[`${IN_ITS_LENGTH}Transfer-Encoding: xchunked\r\n`],
      ...[`${IN_ITS_LENGTH}x: y\nTransfer-Encoding: chunked\r\n`],
      ...[`${IN_ITS_LENGTH}x: y\r\n Transfer-Encoding: chunked\r\n`],
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
    ),
    ...each(
      (body) => hidden('Transfer-Encoding: chunked\r\n', `${body}0\r\n\r\n${HIDDEN}`),
      ...['5\r\nhelloXX', '5;a\nhello\r\n'],
    ),
    'after the shorter of two lengths': hidden(
      `Content-Length: 5\r\n${IN_ITS_LENGTH}`,
      `hello${HIDDEN}`,
    ),
    'in a chunk of HTTP/1.0': kept('HTTP/1.0', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'after headers that end with line feeds': `GET /notes HTTP/1.1\r\n${HOST}\n\n${HIDDEN}`,
    'after headers that end with carriage returns': `GET /notes HTTP/1.1\r\n${HOST}\r\r${HIDDEN}`,
    'in a length beside an empty coding': kept(
      'HTTP/1.1',
      'Transfer-Encoding:\r\nContent-Length: 5\r\n',
      'hello',
    ),
  },
  200: {
    'in the body of a GET': get(WITH_LENGTH) + HIDDEN,
    'in the body of a HEAD': call('HEAD', WITH_LENGTH) + HIDDEN,
    'after an upgrade': get('Connection: Upgrade\r\nUpgrade: websocket\r\n') + HIDDEN,
    'after a request that closes': get() + HIDDEN,
  },
  204: { 'in the body of OPTIONS': call('OPTIONS', WITH_LENGTH) + HIDDEN },
  'unsupported-media-type': {
    'in a body that is refused': post(`Content-Type: text/xml\r\n${WITH_LENGTH}`) + HIDDEN,
  },
  'http-version-not-supported': {
    'after an unsupported version': kept('HTTP/2.0', 'Content-Length: 5\r\n', 'hello'),
  },
  'method-not-allowed': { 'after CONNECT': call('CONNECT', '', 'localhost:80') + HIDDEN },
};

/** The tables by their titles. */
export const LENGTHS: Readonly<Record<string, RawTable>> = {
  'exactly one number': NUMBERS,
  'transfer coding is chunked, without a length': CODINGS,
  'hidden requests are not carried out': HIDDEN_REQUESTS,
};
