// What browsers may do on behalf of which sites: writes from elsewhere, names that were pointed to this machine, and sites
// that are allowed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRaw } from '../../support/raw.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const SITE = 'https://app.example';
const WRITES = [
  ['POST', '/notes'],
  ['PUT', '/notes/1'],
  ['DELETE', '/notes/9'],
] as const;

type Headers = Readonly<Record<string, string>>;

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

for (const headers of FOREIGN) {
  test(`a write with ${JSON.stringify(headers)} is 403 and changes nothing; a read is answered`, async (t) => {
    const service = await startService(t);
    await service.request('POST', '/notes', { json: NOTE });
    for (const [method, path] of WRITES) {
      const answer = await service.request(method, path, { json: { title: 'x', body: 'x' }, headers });
      assert.deepEqual([answer.status, answer.json.detail], [403, 'Writes from other sites are not allowed.']);
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      assert.ok((await service.request(method, '/notes', { headers })).status < 300);
    const { json } = await service.request('GET', '/notes');
    assert.deepEqual(json.items, [{ id: 1, ...NOTE }]);
  });
}

test('a write of the own site, of a person or of no browser is done', async (t) => {
  const service = await startService(t);
  const own: readonly Headers[] = [
    {},
    { 'sec-fetch-site': 'same-origin', origin: service.url },
    { 'sec-fetch-site': 'same-origin', origin: 'https://behind.a.proxy.example' },
    { 'sec-fetch-site': 'none' },
    { origin: service.url },
    { origin: `http://localhost:${service.port}`, host: `localhost:${service.port}` },
    { origin: `http://LOCALHOST:${service.port}`, host: `localhost:${service.port}` },
    { origin: 'http://localhost', host: 'localhost' },
    { origin: 'http://localhost', host: 'localhost:80' },
    { origin: 'https://localhost', host: 'localhost:443' },
  ];
  for (const headers of own) {
    const { status } = await service.request('POST', '/notes', { json: NOTE, headers });
    assert.equal(status, 201, JSON.stringify(headers));
  }
});

test('the origin of the base URL is the own one, whatever host a proxy sends', async (t) => {
  const service = await startService(t, { baseUrl: 'https://notes.example/api' });
  for (const headers of [
    { origin: 'https://notes.example' },
    { origin: 'https://notes.example', host: 'notes.example' },
  ])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 201);
  const headers = { origin: 'https://notes.example:444' };
  assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 403);
});

const HOSTS: readonly (readonly [host: string, status: number])[] = [
  ['localhost', 200],
  ['LocalHost:3000', 200],
  ['localhost.:3000', 200],
  ['notes.localhost', 200],
  ['127.0.0.1', 200],
  ['127.9.9.9:1', 200],
  ['[::1]:3000', 200],
  ['notes.example', 200],
  ['NOTES.EXAMPLE:8443', 200],
  ['notes.example.', 200],
  ['', 200],
  ['evil.example', 403],
  ['evil.example:3000', 403],
  ['127.0.0.1.evil.example', 403],
  ['localhost.evil.example', 403],
  ['evillocalhost', 403],
  ['0.0.0.0', 403],
  ['192.168.0.1', 403],
  ['[::2]', 403],
  ['[::ffff:127.0.0.1]', 403],
  ['sub.notes.example', 403],
];

for (const [host, status] of HOSTS) {
  test(`on loopback the host "${host}" is answered ${status}`, async (t) => {
    const service = await startService(t, { baseUrl: 'https://notes.example' });
    const text = await sendRaw(service, `GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
    if (status === 403) assert.match(text, /"detail":"This service has no such host name\."\}$/);
  });
}

test('an absolute target is for the host that it names', async (t) => {
  const service = await startService(t);
  for (const [target, status] of [
    ['http://localhost:1/health', 200],
    ['http://evil.example/health', 403],
    ['HTTP://evil.example', 403],
  ] as const) {
    const text = await sendRaw(service, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), target);
  }
});

test('without a host there is no own site', async (t) => {
  const service = await startService(t);
  const body = '{"title":"a","body":"b"}';
  for (const [head, status] of [
    ['POST /notes HTTP/1.0', 201],
    ['POST /notes HTTP/1.0\r\nOrigin: http://undefined', 403],
    ['POST /notes HTTP/1.1\r\nHost:\r\nConnection: close\r\nOrigin: foo:bar', 403],
  ] as const) {
    const text = await sendRaw(service, `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), head);
  }
});

for (const host of ['localhost', '127.0.0.2', '127.0.0.1']) {
  test(`a service on ${host} is reached by names of this machine alone`, async (t) => {
    const service = await startService(t, { host });
    for (const [sent, status] of [
      ['evil.example', 403],
      ['localhost', 200],
    ] as const)
      assert.equal((await service.request('GET', '/health', { headers: { host: sent } })).status, status);
  });
}

test('a service that others reach takes any host', async (t) => {
  const service = await startService(t, { host: '0.0.0.0', allowAnonymous: true });
  for (const host of ['evil.example', 'notes.example:80'])
    assert.equal((await service.request('GET', '/notes', { headers: { host } })).status, 200);
});

test('without allowed origins no answer speaks of them', async (t) => {
  const service = await startService(t);
  for (const headers of [{ origin: SITE }, { origin: SITE, 'access-control-request-method': 'GET' }]) {
    const answer = await service.request('OPTIONS', '/notes', { headers });
    const names = Object.keys(answer.headers).filter((name) => /^(access-control|vary)/.test(name));
    assert.deepEqual([answer.status, names], [204, []]);
  }
});

test('an allowed origin may read every answer, its headers too, and write; no other may', async (t) => {
  const service = await startService(t, { corsOrigins: [SITE, 'http://localhost:5173'], apiKeys: ['one'] });
  const key = { 'x-api-key': 'one' };
  const headers = { ...key, origin: SITE, 'sec-fetch-site': 'cross-site' };
  const answers = [
    await service.request('POST', '/notes', { json: NOTE, headers }),
    await service.request('GET', '/notes/7', { headers }),
    await service.request('GET', '/notes', { headers: { origin: SITE } }),
    await service.request('GET', '/docs', { headers: { origin: SITE } }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 404, 401, 200],
  );
  for (const answer of answers) {
    assert.equal(answer.headers['access-control-allow-origin'], SITE);
    assert.match(
      String(answer.headers['access-control-expose-headers']),
      /^accept, allow, etag, location, ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id$/,
    );
    assert.match(String(answer.headers.vary), /\borigin\b/);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  }
  for (const origin of ['https://app.example.evil', 'https://APP.example', 'https://app.example:443', 'null']) {
    const answer = await service.request('GET', '/notes', { headers: { ...key, origin } });
    assert.deepEqual([answer.headers['access-control-allow-origin'], answer.headers.vary], [undefined, 'origin']);
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers: { ...key, origin } })).status, 403);
  }
});

test('a preflight of an allowed origin is answered without a key, for any path, and counts for nothing', async (t) => {
  const service = await startService(t, { corsOrigins: [SITE], apiKeys: ['one'], rateLimit: 1 });
  const headers = {
    origin: SITE,
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'x-api-key',
  };
  for (const path of ['/notes', '/notes/1', '/nowhere']) {
    const text = await sendRaw(
      service,
      `OPTIONS ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    );
    assert.match(text, /^HTTP\/1\.1 204 No Content\r\n/);
    assert.match(text, /\r\naccess-control-allow-origin: https:\/\/app\.example\r\n/);
    assert.match(text, /\r\naccess-control-allow-methods: GET, HEAD, POST, PUT, DELETE\r\n/);
    assert.match(text, /\r\naccess-control-allow-headers: authorization, content-type, x-api-key, x-request-id\r\n/);
    assert.match(text, /\r\naccess-control-max-age: [1-9]\d+\r\n/);
    assert.match(text, /\r\nvary: origin\r\n/);
  }
  // Only a preflight is one.
  for (const [method, sent] of [
    ['OPTIONS', { origin: SITE }],
    ['GET', headers],
    ['POST', headers],
  ] as const)
    assert.equal((await service.request(method, '/notes', { headers: sent })).status, 401);
  const other = { ...headers, origin: 'https://evil.example' };
  const refused = await service.request('OPTIONS', '/notes', { headers: other });
  assert.deepEqual([refused.status, refused.headers['access-control-allow-origin']], [401, undefined]);
});
