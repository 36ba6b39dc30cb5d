// Request targets in all their forms. RFC 9112, section 3.2; RFC 3986.
import { bytes, call, get } from '../../support/raw.ts';
import { each, type RawTable } from '../../support/raw-table.ts';

const target = (text: string) => get('', text);
const options = (text: string) => call('OPTIONS', '', text);

const MALFORMED: RawTable = {
  'bad-request': {
    ...each(
      target,
      // Characters that a target cannot have.
      ...['/no tes', '/no\ttes', '/no\0tes', '/no\x01tes', '/no\rtes', '/no\x7ftes'],
      // No path.
      ...['notes', '../notes', '\\notes', '?limit=1', '*', 'localhost:80'],
      ...['/notes#top', '/notes?limit=1#top', '#top'],
      // Percent-encoding that is broken or not UTF-8.
      ...['/%zz', '/notes/%4', '/notes/%', '/notes/%u0031', '/%ff', '/notes/%e2%82'],
      ...['/notes%c0%af1', '/notes/%ed%a0%80', '/notes?q=%zz', '/notes?q=100%', '/notes?q=%ff'],
      ...['/notes?q=%e6%9d&offset=%b1', '/health?%'],
      // Absolute forms.
      ...['http:///notes', 'http://', 'http:/localhost/notes', 'http://user@localhost/notes'],
      ...['http://u:p@localhost/notes', 'http://localhost/notes#top', 'ftp://localhost/notes'],
      ...['://localhost/notes', 'file:///etc/passwd', 'javascript:alert(1)'],
    ),
    ...each((text) => bytes(target(text)), '/n\xc3\xb6tes', '/notes?x=\xc3\xa9'),
    'an asterisk and more': options('*x'),
  },
};

const NOT_THERE: RawTable = {
  'not-found': each(
    target,
    ...['//evil/x', '//notes', '///notes', '/\\evil/x', '/notes/', '/notes//comments', '/NOTES'],
    ...['/tags/../docs', '/./notes', '/docs/%2e%2e/%2e%2e/package.json', '/notes%2f1'],
    ...['/notes%3Flimit=1', '/n%256ftes', '/notes%00', '/notes%0d%0aHost:%20b', '/notes;v=1', '/*'],
    ...['/x'.repeat(1_000), `/${'x'.repeat(15_000)}`],
    ...['http://localhost/nothing', 'http://localhost//notes'],
  ),
};

const TOO_LARGE: RawTable = {
  'request-header-fields-too-large': each(
    target,
    ...[`/${'x'.repeat(17_000)}`, `/notes?${'x'.repeat(17_000)}`, `/${'%41'.repeat(350_000)}`],
  ),
};

const ODD: RawTable = {
  'validation-failed': each(
    target,
    ...['/notes?a?b', '/notes?&&=&==&', `/notes?x=${'y'.repeat(15_000)}`],
    ...[`/notes?${'a&'.repeat(7_000)}`, '/notes?__proto__=1&constructor=2&toString'],
  ),
  200: each(
    target,
    ...['http://localhost/notes?limit=1', 'https://localhost:443/notes', 'HTTP://LOCALHOST/notes'],
    ...['/n%6Ftes', '/%6e%6f%74%65%73', '/notes?', '/notes?&&', '/notes?q=%e6%9d%b1+%25'],
    '/health?__proto__=1&=2&a',
    // Browsers, curl and libraries send some of these as they are.
    '/notes?q=a"<>{}|\\^`[]',
  ),
  307: each(target, 'http://localhost', 'http://localhost?limit=1'),
  204: each(options, '*', 'http://localhost'),
};

/** The tables by their titles. */
export const TARGETS: Readonly<Record<string, RawTable>> = {
  'malformed is 400': MALFORMED,
  'no such path is 404': NOT_THERE,
  'too long is 431': TOO_LARGE,
  'unusual but well-formed': ODD,
};
