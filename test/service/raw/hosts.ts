// Hosts: a request has exactly one, and it is valid. RFC 9112, section 3.2; RFC 9110, section 7.2;
// RFC 3986, 3.2.2.
import { bare, bytes, CLOSE, chunked, get, HOST, NOTE } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const host = (value: string, version?: string, target = '/notes') =>
  bare(`Host: ${value}\r\n${CLOSE}`, target, version);

const MALFORMED: RawTable = {
  'bad-request': {
    'two host lines': bare(`${HOST}${HOST}${CLOSE}`),
    'two different host lines': bare(`${HOST}hOST: b\r\n${CLOSE}`),
    'two host lines, the first of them empty': bare(`Host:\r\n${HOST}${CLOSE}`),
    'two host lines with 90 lines between': bare(`${HOST}${'x:\r\n'.repeat(90)}${HOST}${CLOSE}`),
    'two host lines in HTTP/1.0': bare(HOST + HOST, '/notes', 'HTTP/1.0'),
    'two host lines beside an absolute target': bare(HOST + HOST + CLOSE, 'http://localhost/notes'),
    'no host': bare(CLOSE),
    'no host beside an absolute target': bare(CLOSE, 'http://localhost/notes'),
    'names similar to Host': bare(`Host_: localhost\r\nX-Host: localhost\r\n${CLOSE}`),
    'bytes beyond ASCII': bytes(host('caf\xc3\xa9')),
    'a malformed one in HTTP/1.0': host('a b', 'HTTP/1.0'),
    'a malformed one beside an absolute target': host('a b', undefined, 'http://localhost/notes'),
    ...each(
      host,
      ...['a/b', 'a?b', 'a#b', 'u@a', 'http://localhost', 'a b', 'a\tb', 'a, b', 'a:b', 'a\0'],
      ...['localhost:-1', 'a:80:80', 'a\\b', '<a>', '"a"', '::1', '[::1', '::1]', '[::1]x', '[]'],
      ...['[localhost]', '[fe80::1%25eth0]'],
    ),
  },
};

const ODD: RawTable = {
  200: {
    ...each(host, 'localhost:8080', 'localhost:', '127.0.0.1:80', '[::1]:80', 'LOCALHOST'),
    'none in HTTP/1.0': 'GET /notes HTTP/1.0\r\n\r\n',
    'spaces around it': bare(`Host: \t localhost \t \r\n${CLOSE}`),
    'no space before it': bare(`Host:localhost\r\n${CLOSE}`),
    'a name in upper case': bare(`HOST: localhost\r\n${CLOSE}`),
    'a host that comes last': bare(`${CLOSE}x: y\r\n${HOST}`),
    'another one in the absolute target': get('', 'http://127.0.0.1/notes'),
  },
  201: { 'a second one in the trailers': chunked(`18\r\n${NOTE}\r\n0\r\nHost: b\r\n\r\n`) },
};

/** The tables by their titles. */
export const HOSTS: Readonly<Record<string, RawTable>> = {
  'invalid, missing or repeated is 400': MALFORMED,
  'unusual but valid': ODD,
};
