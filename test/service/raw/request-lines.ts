// Request lines: method, target and version, and other protocols.
// RFC 9112, sections 2.2, 2.3 and 3; RFC 9110, sections 2.5 and 9.1.
import { bare, bytes, CLOSE, call, get, HOST } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const METHODS: RawTable = {
  'bad-request': {
    ...each(
      call,
      ...['NONSENSE', 'get', 'Get', '', 'GE', 'GETX', 'GETPOST', 'G=T', 'GET\0', '"GET"'],
      'G'.repeat(17_000),
    ),
    'a method beyond ASCII': bytes(call('G\xc9T')),
  },
  'method-not-allowed': {
    ...each(call, 'TRACE', 'PATCH', 'PROPFIND', 'M-SEARCH', 'LINK', 'QUERY'),
    CONNECT: call('CONNECT', '', 'b:443'),
    'CONNECT with a payload': `${call('CONNECT', '', 'b:443')}hello`,
    'TRACE with a body': `${call('TRACE', 'Content-Length: 5\r\n')}hello`,
    'a method that the path does not have': call('PUT', 'Content-Length: 0\r\n'),
    'HEAD where there is no GET': call('HEAD', '', '/counter/increment'),
  },
  'method-not-allowed or bad-request': each((to) => call('CONNECT', '', to), 'b', '/notes'),
  'not-found': { 'HEAD of an unknown path': call('HEAD', '', '/nothing') },
  200: each(call, 'HEAD'),
  204: each(call, 'OPTIONS'),
};

const SHAPES: RawTable = {
  'bad-request': {
    ...each(
      (line) => `${line}${HOST}\r\n`,
      ...['GET /notes HTTP/1.1\n', 'GET /notes HTTP/1.1\r', 'GET /notes HTTP/1.1\r\r\n'],
      ...['GET /notes HTTP/1.1 x\r\n', 'GET\t/notes\tHTTP/1.1\r\n', 'GET\v/notes HTTP/1.1\r\n'],
      ...['GET/notes HTTP/1.1\r\n', 'GET HTTP/1.1\r\n', 'GET  HTTP/1.1\r\n'],
      ' GET /notes HTTP/1.1\r\n',
    ),
    'lines that end with a bare line feed': `GET /notes HTTP/1.1\nHost: localhost\n${CLOSE}\n`,
    'a leading byte order mark': bytes(`\xef\xbb\xbf${get()}`),
    'a leading NUL': `\0${get()}`,
    'the method alone': 'GET\r\n\r\n',
  },
  'http-version-not-supported or bad-request': {
    'no space between target and version': `GET /notesHTTP/1.1\r\n${HOST}\r\n`,
    'a request of HTTP/0.9': 'GET /notes\r\n\r\n',
  },
  200: {
    // RFC 9112, section 3: a recipient may split the line at any run of white space.
    'two spaces before the target': get('', ' /notes'),
    'two spaces before the version': get('', '/notes '),
    // RFC 9112, section 2.2: at least one empty line before the request should be ignored.
    'an empty leading line': `\r\n${get()}`,
    'ten empty leading lines': `${'\r\n'.repeat(10)}${get()}`,
  },
};

const version = (text: string) => bare(HOST, '/notes', text);

const VERSIONS: RawTable = {
  200: { 'HTTP/1.0': get('', '/notes', 'HTTP/1.0') },
  'http-version-not-supported': each(version, 'HTTP/2.0', 'HTTP/0.9'),
  'bad-request': each(
    version,
    ...['HTTP/2', 'HTTP/3', 'HTTP/1.2', 'HTTP/9.9', 'http/1.1', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1'],
    ...['HTTP/1.', 'HTTP/11', 'HTTP/1,1', 'HTTP/-1.1'],
    ...['HTTP/1.1x', 'HTTP1.1', 'HTTP/', 'HTTPS/1.1'],
  ),
};

const OTHER_PROTOCOLS: RawTable = {
  'http-version-not-supported': {
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  },
  'bad-request': {
    'an answer of HTTP': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    RTSP: 'OPTIONS rtsp://localhost/notes RTSP/1.0\r\nCSeq: 1\r\n\r\n',
    SIP: 'INVITE sip:a@localhost SIP/2.0\r\n\r\n',
    SMTP: 'EHLO localhost\r\n',
    FTP: 'USER anonymous\r\n',
    Redis: '*1\r\n$4\r\nPING\r\n',
    memcached: 'get notes\r\n',
    'a server that speaks first (SSH)': 'SSH-2.0-OpenSSH_9.7\r\n',
    'the header of a proxy': 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\n\r\n',
    'the binary header of a proxy': Buffer.from('0d0a0d0a000d0a515549540a', 'hex'),
    'the greeting of TLS': Buffer.from('16030100ea010000e60303', 'hex'),
    'the greeting of SOCKS': Buffer.from('050100', 'hex'),
    'the start of PostgreSQL': Buffer.from('0000000804d2162f', 'hex'),
    'nothing but NULs': Buffer.alloc(1_000),
    'nothing but 0xff': Buffer.alloc(1_000, 0xff),
    'a megabyte of letters': 'a'.repeat(1_000_000),
    'a body without a request': '{"title":"a","body":"b"}',
  },
  'method-not-allowed or bad-request': {
    'RTSP with a path': 'SETUP /notes RTSP/1.0\r\nCSeq: 1\r\n\r\n',
    'the source of Icecast': 'SOURCE /notes ICE/1.0\r\n\r\n',
  },
};

/** The tables by their titles. */
export const REQUEST_LINES: Readonly<Record<string, RawTable>> = {
  methods: METHODS,
  'white space and line ends': SHAPES,
  'version is HTTP/1.1 or HTTP/1.0': VERSIONS,
  'other protocols get an HTTP answer': OTHER_PROTOCOLS,
};
