// Writes on behalf of other sites, host names, CORS and preflights, without a server.
import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { checkHost, corsHeaders, isForeign, preflightReply } from '../../src/guards/origin.ts';
import { Problem } from '../../src/http/problem.ts';

const SITE = 'https://app.example';

type Headers = Readonly<Record<string, string>>;

function message(method: string, headers: Headers, url = '/notes'): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method, url, headers });
}

function refusalOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Problem && error.slug === 'forbidden', String(error));
    return error.message;
  }
}

const FOREIGN: readonly Headers[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: SITE },
  { origin: SITE },
  { origin: 'null' },
  { origin: 'http://127.0.0.1' },
  { origin: 'http://127.0.0.1:1' },
  { origin: 'nonsense' },
  { origin: '' },
  { origin: 'file://' },
  { origin: 'http://undefined' },
];

const OWN: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:3000' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://behind.a.proxy.example' },
  { 'sec-fetch-site': 'none' },
  { origin: 'http://127.0.0.1:3000' },
  { origin: 'http://localhost:3000', host: 'localhost:3000' },
  { origin: 'http://LOCALHOST:3000', host: 'localhost:3000' },
  { origin: 'http://localhost', host: 'localhost' },
  { origin: 'http://localhost', host: 'localhost:80' },
  { origin: 'https://localhost', host: 'localhost:443' },
  { origin: 'https://notes.example' },
  { origin: 'https://notes.example', 'sec-fetch-site': 'cross-site' },
];

test('origins: other sites are told from the same site, a person and no browser', () => {
  const own = new Set(['https://notes.example']);
  for (const [isExpected, table] of [
    [true, FOREIGN],
    [false, OWN],
  ] as const) {
    for (const headers of table) {
      const sent = message('POST', { host: '127.0.0.1:3000', ...headers });
      assert.equal(isForeign(sent, own), isExpected, JSON.stringify(headers));
    }
  }
});

const ACCEPTED = [
  ...['localhost', 'LocalHost:3000', 'localhost.:3000', 'notes.localhost', '127.0.0.1'],
  ...['127.9.9.9:1', '[::1]:3000', 'notes.example', 'NOTES.EXAMPLE:8443', 'notes.example.', ''],
];

const REFUSED = [
  ...['evil.example', 'evil.example:3000', '127.0.0.1.evil.example', 'localhost.evil.example'],
  ...['evillocalhost', '0.0.0.0', '192.168.0.1', '[::2]', '[::ffff:127.0.0.1]'],
  'sub.notes.example',
];

test('hosts: local names and the given ones pass, others do not', () => {
  const detailFor = (host: string, url?: string) =>
    refusalOf(() => checkHost(message('GET', { host }, url), 'notes.example'));
  for (const host of ACCEPTED) {
    assert.equal(detailFor(host), undefined, host);
    assert.equal(detailFor('evil.example', `HTTP://${host || 'localhost'}/x`), undefined, host);
  }
  const detail = 'This service has no such host name.';
  for (const host of REFUSED) {
    assert.equal(detailFor(host), detail, host);
    assert.equal(detailFor('localhost', `http://${host}/x`), detail, host);
  }
  checkHost(message('GET', {}), '');
});

test('cors: only an allowed origin is named in the answer', () => {
  const headersFor = (origin: string) => corsHeaders(message('GET', { origin }), new Set([SITE]));
  const [name, value, ...rest] = headersFor(SITE);
  assert.deepEqual([name, value], ['access-control-allow-origin', SITE]);
  assert.deepEqual(rest.slice(-2), ['vary', 'origin']);
  const others = ['https://app.example.evil', 'https://APP.example', 'https://app.example:443'];
  for (const origin of [...others, 'null'])
    assert.deepEqual(headersFor(origin), ['vary', 'origin'], origin);
  assert.deepEqual(corsHeaders(message('GET', {}), new Set([SITE])), ['vary', 'origin']);
});

test('cors: a preflight is OPTIONS with origin and method', () => {
  const asks = { origin: SITE, 'access-control-request-method': 'DELETE' };
  assert.equal(preflightReply(message('OPTIONS', asks), new Set([SITE]))?.status, 204);
  for (const [method, headers] of [
    ['GET', asks],
    ['POST', asks],
    ['OPTIONS', { origin: SITE }],
    ['OPTIONS', { 'access-control-request-method': 'DELETE' }],
    ['OPTIONS', { ...asks, origin: 'https://evil.example' }],
  ] as const)
    assert.equal(preflightReply(message(method, headers), new Set([SITE])), undefined);
});
