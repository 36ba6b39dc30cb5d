// Request targets in all their forms. RFC 9112, section 3.2; RFC 3986.
import { bytes, call, get } from '../../support/raw.ts';
import type { RawTable } from '../../support/raw-table.ts';

const MALFORMED: RawTable = {
  'a space': [get('', '/no tes'), 'bad-request'],
  'a tab': [get('', '/no\ttes'), 'bad-request'],
  'a NUL': [get('', '/no\0tes'), 'bad-request'],
  'a control character': [get('', '/no\x01tes'), 'bad-request'],
  'a carriage return': [get('', '/no\rtes'), 'bad-request'],
  'a DEL': [get('', '/no\x7ftes'), 'bad-request'],
  'a path without its slash': [get('', 'notes'), 'bad-request'],
  'a path that begins with dots': [get('', '../notes'), 'bad-request'],
  'a leading backslash': [get('', '\\notes'), 'bad-request'],
  'a query without path': [get('', '?limit=1'), 'bad-request'],
  'an asterisk for a GET': [get('', '*'), 'bad-request'],
  'an asterisk and more': [call('OPTIONS', '', '*x'), 'bad-request'],
  'the name and port of a host': [get('', 'localhost:80'), 'bad-request'],
  'a fragment': [get('', '/notes#top'), 'bad-request'],
  'a fragment of the query': [get('', '/notes?limit=1#top'), 'bad-request'],
  'a fragment alone': [get('', '#top'), 'bad-request'],
  'a percent sign without digits': [get('', '/%zz'), 'bad-request'],
  'a percent sign with one digit': [get('', '/notes/%4'), 'bad-request'],
  'a percent sign at the end': [get('', '/notes/%'), 'bad-request'],
  'a percent-encoding of JavaScript': [get('', '/notes/%u0031'), 'bad-request'],
  'percent-encoded bytes that are not UTF-8': [get('', '/%ff'), 'bad-request'],
  'half a character, percent-encoded': [get('', '/notes/%e2%82'), 'bad-request'],
  'an overlong slash, percent-encoded': [get('', '/notes%c0%af1'), 'bad-request'],
  'a surrogate, percent-encoded': [get('', '/notes/%ed%a0%80'), 'bad-request'],
  'a broken percent-encoding in the query': [get('', '/notes?q=%zz'), 'bad-request'],
  'a percent sign at the end of the query': [get('', '/notes?q=100%'), 'bad-request'],
  'percent-encoded bytes that are not UTF-8 in the query': [get('', '/notes?q=%ff'), 'bad-request'],
  'half a character in each of two parameters': [
    get('', '/notes?q=%e6%9d&offset=%b1'),
    'bad-request',
  ],
  'a broken percent-encoding where no query is read': [get('', '/health?%'), 'bad-request'],
  'bytes beyond ASCII in the path': [bytes(get('', '/n\xc3\xb6tes')), 'bad-request'],
  'bytes beyond ASCII in the query': [bytes(get('', '/notes?x=\xc3\xa9')), 'bad-request'],
  'an absolute target without a host': [get('', 'http:///notes'), 'bad-request'],
  'an absolute target that is only a scheme': [get('', 'http://'), 'bad-request'],
  'an absolute target with one slash': [get('', 'http:/localhost/notes'), 'bad-request'],
  'an absolute target with a user': [get('', 'http://user@localhost/notes'), 'bad-request'],
  'an absolute target with user and password': [
    get('', 'http://u:p@localhost/notes'),
    'bad-request',
  ],
  'an absolute target with a fragment': [get('', 'http://localhost/notes#top'), 'bad-request'],
  'another scheme': [get('', 'ftp://localhost/notes'), 'bad-request'],
  'an empty scheme': [get('', '://localhost/notes'), 'bad-request'],
  'a file': [get('', 'file:///etc/passwd'), 'bad-request'],
  'a script': [get('', 'javascript:alert(1)'), 'bad-request'],
};

const NOT_THERE: RawTable = {
  'two leading slashes': [get('', '//evil/x'), 'not-found'],
  'two slashes before a path that is there': [get('', '//notes'), 'not-found'],
  'three leading slashes': [get('', '///notes'), 'not-found'],
  'a leading slash and backslash': [get('', '/\\evil/x'), 'not-found'],
  'a trailing slash': [get('', '/notes/'), 'not-found'],
  'an empty segment': [get('', '/notes//comments'), 'not-found'],
  'capital letters': [get('', '/NOTES'), 'not-found'],
  'dots in the path': [get('', '/tags/../docs'), 'not-found'],
  'a dot in the path': [get('', '/./notes'), 'not-found'],
  'percent-encoded dots': [get('', '/docs/%2e%2e/%2e%2e/package.json'), 'not-found'],
  'a percent-encoded slash': [get('', '/notes%2f1'), 'not-found'],
  'a percent-encoded question mark': [get('', '/notes%3Flimit=1'), 'not-found'],
  'an encoded percent sign': [get('', '/n%256ftes'), 'not-found'],
  'a percent-encoded NUL': [get('', '/notes%00'), 'not-found'],
  'a percent-encoded line break': [get('', '/notes%0d%0aHost:%20b'), 'not-found'],
  'parameters of the path': [get('', '/notes;v=1'), 'not-found'],
  'a star in the path': [get('', '/*'), 'not-found'],
  'a thousand segments': [get('', '/x'.repeat(1_000)), 'not-found'],
  'a segment of 15,000 characters': [get('', `/${'x'.repeat(15_000)}`), 'not-found'],
  'an unknown path in the absolute form': [get('', 'http://localhost/nothing'), 'not-found'],
  'two leading slashes, in the absolute form': [get('', 'http://localhost//notes'), 'not-found'],
};

const TOO_LARGE: RawTable = {
  '17 KB of path': [get('', `/${'x'.repeat(17_000)}`), 'request-header-fields-too-large'],
  '17 KB of query': [get('', `/notes?${'x'.repeat(17_000)}`), 'request-header-fields-too-large'],
  'a megabyte of percent-encoding': [
    get('', `/${'%41'.repeat(350_000)}`),
    'request-header-fields-too-large',
  ],
};

const ODD: RawTable = {
  'an absolute target': [get('', 'http://localhost/notes?limit=1'), 200],
  'an absolute target with another scheme': [get('', 'https://localhost:443/notes'), 200],
  'an absolute target in upper case': [get('', 'HTTP://LOCALHOST/notes'), 200],
  'an absolute target without a path': [get('', 'http://localhost'), 307],
  'an absolute target with a query and no path': [get('', 'http://localhost?limit=1'), 307],
  'a percent-encoded path': [get('', '/n%6Ftes'), 200],
  'a fully percent-encoded path': [get('', '/%6e%6f%74%65%73'), 200],
  'an empty query': [get('', '/notes?'), 200],
  'a second question mark': [get('', '/notes?a?b'), 200],
  'a plus sign and percent-encoding in the query': [get('', '/notes?q=%e6%9d%b1+%25'), 200],
  'a query of separators': [get('', '/notes?&&=&==&'), 200],
  'a query of 15,000 characters': [get('', `/notes?x=${'y'.repeat(15_000)}`), 200],
  'a query of thousands of parameters': [get('', `/notes?${'a&'.repeat(7_000)}`), 200],
  'a query with the names of inherited members': [
    get('', '/notes?__proto__=1&constructor=2&toString'),
    200,
  ],
  // Browsers, curl and libraries send some of these as they are.
  'printable ASCII that RFC 3986 excludes from queries': [get('', '/notes?q=a"<>{}|\\^`[]'), 200],
  'OPTIONS *': [call('OPTIONS', '', '*'), 204],
  'OPTIONS of an absolute target without a path': [call('OPTIONS', '', 'http://localhost'), 204],
};

/** The tables by their titles. */
export const TARGETS: Readonly<Record<string, RawTable>> = {
  'malformed is 400': MALFORMED,
  'no such path is 404': NOT_THERE,
  'too long is 431': TOO_LARGE,
  'unusual but valid': ODD,
};
