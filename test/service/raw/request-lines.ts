// Request lines: method, target and version, and other protocols.
// RFC 9112, sections 2.2, 2.3 and 3; RFC 9110, sections 2.5 and 9.1.
import { bare, bytes, CLOSE, call, get, HOST } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const METHODS: RawTable = {
  'an unknown method': [call('NONSENSE'), 'bad-request'],
  'a method in lower case': [call('get'), 'bad-request'],
  'a method in mixed case': [call('Get'), 'bad-request'],
  'no method': [call(''), 'bad-request'],
  'half a method': [call('GE'), 'bad-request'],
  'a method with an extra letter': [call('GETX'), 'bad-request'],
  'two methods in one': [call('GETPOST'), 'bad-request'],
  'a method with an invalid character': [call('G=T'), 'bad-request'],
  'a method with a NUL': [call('GET\0'), 'bad-request'],
  'a method beyond ASCII': [bytes(call('G\xc9T')), 'bad-request'],
  'a method in quotes': [call('"GET"'), 'bad-request'],
  'a method of 17 KB': [call('G'.repeat(17_000)), 'bad-request'],
  CONNECT: [call('CONNECT', '', 'b:443'), 'method-not-allowed'],
  'CONNECT with a payload': [`${call('CONNECT', '', 'b:443')}hello`, 'method-not-allowed'],
  'CONNECT without a port': [call('CONNECT', '', 'b'), 'method-not-allowed', 'bad-request'],
  'CONNECT with a path': [call('CONNECT', '', '/notes'), 'bad-request', 'method-not-allowed'],
  TRACE: [call('TRACE'), 'method-not-allowed'],
  'TRACE with a body': [`${call('TRACE', 'Content-Length: 5\r\n')}hello`, 'method-not-allowed'],
  PATCH: [call('PATCH', '', '/notes'), 'method-not-allowed'],
  PROPFIND: [call('PROPFIND'), 'method-not-allowed'],
  'M-SEARCH': [call('M-SEARCH'), 'method-not-allowed'],
  LINK: [call('LINK'), 'method-not-allowed'],
  QUERY: [call('QUERY'), 'method-not-allowed'],
  'a method that the path does not have': [
    call('PUT', 'Content-Length: 0\r\n'),
    'method-not-allowed',
  ],
  'HEAD where there is no GET': [call('HEAD', '', '/counter/increment'), 'method-not-allowed'],
  'HEAD of an unknown path': [call('HEAD', '', '/nothing'), 'not-found'],
  HEAD: [call('HEAD'), 200],
  OPTIONS: [call('OPTIONS'), 204],
};

const SHAPES: RawTable = {
  'lines that end with a bare line feed': [
    `GET /notes HTTP/1.1\nHost: localhost\n${CLOSE}\n`,
    'bad-request',
  ],
  'a request line that ends with a bare line feed': [
    `GET /notes HTTP/1.1\n${HOST}\r\n`,
    'bad-request',
  ],
  'a request line that ends with a bare carriage return': [
    `GET /notes HTTP/1.1\r${HOST}\r\n`,
    'bad-request',
  ],
  'a request line that ends with two carriage returns': [
    `GET /notes HTTP/1.1\r\r\n${HOST}\r\n`,
    'bad-request',
  ],
  'a request line with a fourth word': [`GET /notes HTTP/1.1 x\r\n${HOST}\r\n`, 'bad-request'],
  'tabs between the words': [`GET\t/notes\tHTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'a vertical tab between the words': [`GET\v/notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'no space between method and target': [`GET/notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'no space between target and version': [
    `GET /notesHTTP/1.1\r\n${HOST}\r\n`,
    'bad-request',
    'http-version-not-supported',
  ],
  'no target': [`GET HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'two spaces and no target': [`GET  HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'a space before the method': [` GET /notes HTTP/1.1\r\n${HOST}\r\n`, 'bad-request'],
  'a leading byte order mark': [bytes(`\xef\xbb\xbf${get()}`), 'bad-request'],
  'a leading NUL': [`\0${get()}`, 'bad-request'],
  'the method alone': ['GET\r\n\r\n', 'bad-request'],
  'a request of HTTP/0.9': ['GET /notes\r\n\r\n', 'http-version-not-supported', 'bad-request'],
  // RFC 9112, section 3: a recipient may split the line at any run of white space.
  'two spaces before the target': [get('', ' /notes'), 200],
  'two spaces before the version': [get('', '/notes '), 200],
  // RFC 9112, section 2.2: at least one empty line before the request should be ignored.
  'an empty leading line': [`\r\n${get()}`, 200],
  'ten empty leading lines': [`${'\r\n'.repeat(10)}${get()}`, 200],
};

const VERSIONS: RawTable = {
  'HTTP/1.0': [get('', '/notes', 'HTTP/1.0'), 200],
  'HTTP/2.0': [bare(HOST, '/notes', 'HTTP/2.0'), 'http-version-not-supported'],
  'HTTP/2': [bare(HOST, '/notes', 'HTTP/2'), 'bad-request'],
  'HTTP/3': [bare(HOST, '/notes', 'HTTP/3'), 'bad-request'],
  'HTTP/0.9 by its number': [bare(HOST, '/notes', 'HTTP/0.9'), 'http-version-not-supported'],
  'HTTP/1.2': [bare(HOST, '/notes', 'HTTP/1.2'), 'bad-request'],
  'HTTP/9.9': [bare(HOST, '/notes', 'HTTP/9.9'), 'bad-request'],
  'http in lower case': [bare(HOST, '/notes', 'http/1.1'), 'bad-request'],
  'a version with two digits': [bare(HOST, '/notes', 'HTTP/1.10'), 'bad-request'],
  'a version with a leading zero': [bare(HOST, '/notes', 'HTTP/01.1'), 'bad-request'],
  'a version without minor number': [bare(HOST, '/notes', 'HTTP/1'), 'bad-request'],
  'a version that ends with its dot': [bare(HOST, '/notes', 'HTTP/1.'), 'bad-request'],
  'a version without a dot': [bare(HOST, '/notes', 'HTTP/11'), 'bad-request'],
  'a version with a comma': [bare(HOST, '/notes', 'HTTP/1,1'), 'bad-request'],
  'a version with a sign': [bare(HOST, '/notes', 'HTTP/-1.1'), 'bad-request'],
  'a version followed by a letter': [bare(HOST, '/notes', 'HTTP/1.1x'), 'bad-request'],
  'a version without slash': [bare(HOST, '/notes', 'HTTP1.1'), 'bad-request'],
  'a version without numbers': [bare(HOST, '/notes', 'HTTP/'), 'bad-request'],
  'HTTPS as a version': [bare(HOST, '/notes', 'HTTPS/1.1'), 'bad-request'],
};

const OTHER_PROTOCOLS: RawTable = {
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'http-version-not-supported'],
  'an answer of HTTP': ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 'bad-request'],
  RTSP: ['OPTIONS rtsp://localhost/notes RTSP/1.0\r\nCSeq: 1\r\n\r\n', 'bad-request'],
  'RTSP with a path': [
    'SETUP /notes RTSP/1.0\r\nCSeq: 1\r\n\r\n',
    'method-not-allowed',
    'bad-request',
  ],
  'the source of Icecast': ['SOURCE /notes ICE/1.0\r\n\r\n', 'method-not-allowed', 'bad-request'],
  SIP: ['INVITE sip:a@localhost SIP/2.0\r\n\r\n', 'bad-request'],
  SMTP: ['EHLO localhost\r\n', 'bad-request'],
  FTP: ['USER anonymous\r\n', 'bad-request'],
  Redis: ['*1\r\n$4\r\nPING\r\n', 'bad-request'],
  memcached: ['get notes\r\n', 'bad-request'],
  'a server that speaks first (SSH)': ['SSH-2.0-OpenSSH_9.7\r\n', 'bad-request'],
  'the header of a proxy': [
    'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n\r\n',
    'bad-request',
  ],
  'the binary header of a proxy': [Buffer.from('0d0a0d0a000d0a515549540a', 'hex'), 'bad-request'],
  'the greeting of TLS': [Buffer.from('16030100ea010000e60303', 'hex'), 'bad-request'],
  'the greeting of SOCKS': [Buffer.from('050100', 'hex'), 'bad-request'],
  'the start of PostgreSQL': [Buffer.from('0000000804d2162f', 'hex'), 'bad-request'],
  'nothing but NULs': [Buffer.alloc(1_000), 'bad-request'],
  'nothing but 0xff': [Buffer.alloc(1_000, 0xff), 'bad-request'],
  'a megabyte of letters': ['a'.repeat(1_000_000), 'bad-request'],
  'a body without a request': ['{"title":"a","body":"b"}', 'bad-request'],
};

/** The tables by their titles. */
export const REQUEST_LINES: Readonly<Record<string, RawTable>> = {
  methods: METHODS,
  'white space and line ends': SHAPES,
  'version is HTTP/1.1 or HTTP/1.0': VERSIONS,
  'other protocols get an HTTP answer': OTHER_PROTOCOLS,
};
