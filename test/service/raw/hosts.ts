// Hosts: a request has exactly one, and it is valid. RFC 9112, section 3.2; RFC 9110, section 7.2;
// RFC 3986, 3.2.2.
import { bare, bytes, CLOSE, chunked, get, HOST, NOTE } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const host = (value: string, version?: string) =>
  bare(`Host: ${value}\r\n${CLOSE}`, '/notes', version);

const MALFORMED: RawTable = {
  'two host lines': [bare(`${HOST}${HOST}${CLOSE}`), 'bad-request'],
  'two different host lines': [bare(`${HOST}hOST: b\r\n${CLOSE}`), 'bad-request'],
  'two host lines, the first of them empty': [bare(`Host:\r\n${HOST}${CLOSE}`), 'bad-request'],
  'two host lines with 90 lines between': [
    bare(`${HOST}${'x:\r\n'.repeat(90)}${HOST}${CLOSE}`),
    'bad-request',
  ],
  'two host lines in HTTP/1.0': [bare(HOST + HOST, '/notes', 'HTTP/1.0'), 'bad-request'],
  'two host lines beside an absolute target': [
    bare(HOST + HOST + CLOSE, 'http://localhost/notes'),
    'bad-request',
  ],
  'no host': [bare(CLOSE), 'bad-request'],
  'no host beside an absolute target': [bare(CLOSE, 'http://localhost/notes'), 'bad-request'],
  'names similar to Host': [
    bare(`Host_: localhost\r\nX-Host: localhost\r\n${CLOSE}`),
    'bad-request',
  ],
  'a path': [host('a/b'), 'bad-request'],
  'a query': [host('a?b'), 'bad-request'],
  'a fragment': [host('a#b'), 'bad-request'],
  'a user': [host('u@a'), 'bad-request'],
  'a URL': [host('http://localhost'), 'bad-request'],
  'a space inside': [host('a b'), 'bad-request'],
  'a tab inside': [host('a\tb'), 'bad-request'],
  'a list': [host('a, b'), 'bad-request'],
  'a port that is no number': [host('a:b'), 'bad-request'],
  'a port with a sign': [host('localhost:-1'), 'bad-request'],
  'two ports': [host('a:80:80'), 'bad-request'],
  'a backslash': [host('a\\b'), 'bad-request'],
  'angle brackets': [host('<a>'), 'bad-request'],
  quotes: [host('"a"'), 'bad-request'],
  'bytes beyond ASCII': [bytes(host('caf\xc3\xa9')), 'bad-request'],
  'a NUL': [host('a\0'), 'bad-request'],
  'an IPv6 address without brackets': [host('::1'), 'bad-request'],
  'a bracket that is not closed': [host('[::1'), 'bad-request'],
  'a bracket that is not opened': [host('::1]'), 'bad-request'],
  'letters after the brackets': [host('[::1]x'), 'bad-request'],
  'brackets without an address': [host('[]'), 'bad-request'],
  'a name in brackets': [host('[localhost]'), 'bad-request'],
  'a zone in brackets': [host('[fe80::1%25eth0]'), 'bad-request'],
  'a malformed one in HTTP/1.0': [host('a b', 'HTTP/1.0'), 'bad-request'],
  'a malformed one beside an absolute target': [
    bare(`Host: a b\r\n${CLOSE}`, 'http://localhost/notes'),
    'bad-request',
  ],
};

const ODD: RawTable = {
  'none in HTTP/1.0': ['GET /notes HTTP/1.0\r\n\r\n', 200],
  'a port': [host('localhost:8080'), 200],
  'a port without digits': [host('localhost:'), 200],
  'an IPv4 address': [host('127.0.0.1:80'), 200],
  'an IPv6 address': [host('[::1]:80'), 200],
  'capital letters': [host('LOCALHOST'), 200],
  'spaces around it': [bare(`Host: \t localhost \t \r\n${CLOSE}`), 200],
  'no space before it': [bare(`Host:localhost\r\n${CLOSE}`), 200],
  'a name in upper case': [bare(`HOST: localhost\r\n${CLOSE}`), 200],
  'a host that comes last': [bare(`${CLOSE}x: y\r\n${HOST}`), 200],
  'a second one in the trailers': [chunked(`18\r\n${NOTE}\r\n0\r\nHost: b\r\n\r\n`), 201],
  'another one in the absolute target': [get('', 'http://127.0.0.1/notes'), 200],
};

/** The tables by their titles. */
export const HOSTS: Readonly<Record<string, RawTable>> = {
  'invalid, missing or repeated is 400': MALFORMED,
  'unusual but valid': ODD,
};
