// What browsers may do on behalf of other sites, over HTTP.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { send } from '../../support/http.ts';
import { bare, CLOSE, exchange, requestText } from '../../support/raw.ts';
import { expected } from '../../support/records.ts';
import { optionsFor, startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const SITE = 'https://app.example';

const service = await startService({ after });
const behindProxy = await startService({ after }, { baseUrl: 'https://notes.example/api' });

type Headers = Readonly<Record<string, string>>;

const FOREIGN: readonly Headers[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: SITE },
  ...[SITE, 'null', 'http://127.0.0.1', 'http://127.0.0.1:1', 'nonsense', '', 'file://'].map(
    (origin) => ({ origin }),
  ),
  ...['http://undefined', 'https://notes.example:444'].map((origin) => ({ origin })),
];

const OWN: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:3000' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://behind.a.proxy.example' },
  { 'sec-fetch-site': 'none' },
  { origin: 'http://127.0.0.1:3000' },
  { origin: 'http://localhost:3000', host: 'localhost:3000' },
  { origin: 'http://localhost', host: 'localhost' },
  { origin: 'http://localhost', host: 'localhost:80' },
  { origin: 'https://localhost', host: 'localhost:443' },
  // The base URL.
  { origin: 'https://notes.example' },
  { origin: 'https://notes.example', host: 'notes.example' },
  { origin: 'https://notes.example', 'sec-fetch-site': 'cross-site' },
];

test('origins: other sites are told from the same site, a person and no browser', async () => {
  for (const [status, table] of [
    [403, FOREIGN],
    [201, OWN],
  ] as const)
    for (const each of table) {
      const headers = { host: '127.0.0.1:3000', ...each };
      const answer = await behindProxy.request('POST', '/notes', { json: NOTE, headers });
      assert.equal(answer.status, status, JSON.stringify(each));
    }
});

test('origins: a write of another site is 403 and changes nothing', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: NOTE });
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: SITE }]) {
    for (const [method, path] of [
      ['POST', '/notes'],
      ['PUT', '/notes/1'],
      ['DELETE', '/notes/1'],
      ['PATCH', '/notes/1'],
      ['PROPFIND', '/notes/1'],
    ] as const) {
      const answer = await service.request(method, path, {
        json: { title: 'x', body: 'x' },
        headers,
      });
      assert.deepEqual(
        [answer.status, answer.json.detail],
        [403, 'Writes from other sites are not allowed.'],
      );
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      assert.notEqual((await service.request(method, '/notes', { headers })).status, 403);
  }
  assert.deepEqual((await service.request('GET', '/notes')).json.items, [
    expected({ id: 1, ...NOTE }),
  ]);
});

for (const path of ['/mcp', '/export'])
  test(`origins: at ${path} another site may not even read`, async (t) => {
    const service = await startService(t, { corsOrigins: [SITE] });
    const evil = { origin: 'https://evil.example' };
    // What a browser says of the site counts only against a request.
    const foreign: Headers[] = [
      ...[evil, { origin: 'null' }],
      ...['same-origin', 'none'].map((site) => ({ ...evil, 'sec-fetch-site': site })),
      ...['cross-site', 'same-site'].map((site) => ({ 'sec-fetch-site': site })),
    ];
    const own: Headers[] = [
      ...[{}, { origin: SITE }, { origin: service.url }],
      ...['same-origin', 'none'].map((site) => ({ 'sec-fetch-site': site })),
      { origin: SITE, 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of [...foreign, ...own]) {
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
        const { status, json } = await service.request(method, path, { headers });
        const isForeign = foreign.includes(headers);
        assert.equal(status === 403, isForeign, `${method} ${JSON.stringify(headers)}`);
        if (isForeign && method === 'GET')
          assert.equal(json.detail, 'Other sites may not read this.');
      }
      for (const other of [`${path}/x`, '/health', '/notes'])
        assert.notEqual((await service.request('GET', other, { headers })).status, 403);
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

test('hosts: local names and the base URL pass, and a target overrides the header', async () => {
  const answerTo = (host: string, target = '/livez') =>
    exchange(behindProxy, bare(`Host: ${host}\r\n${CLOSE}`, target));
  for (const host of ACCEPTED) {
    assert.equal((await answerTo(host)).status, 200, host);
    const absolute = await answerTo('evil.example', `HTTP://${host || 'localhost'}/livez`);
    assert.equal(absolute.status, 200, host);
  }
  for (const host of REFUSED)
    for (const answer of [await answerTo(host), await answerTo('localhost', `http://${host}/x`)]) {
      assert.equal(answer.status, 403, host);
      assert.match(answer.body, /"This service has no such host name\."/);
    }
});

test('hosts: a service on loopback answers to local names alone', async (t) => {
  for (const host of ['127.0.0.2', 'localhost']) {
    const { request } = await startService(t, { host });
    const statusTo = async (name: string) =>
      (await request('GET', '/health', { headers: { host: name } })).status;
    assert.deepEqual([await statusTo('evil.example'), await statusTo('127.0.0.1:1')], [403, 200]);
  }
});

test('hosts: a request without a host is never from the same site', async () => {
  const body = JSON.stringify(NOTE);
  for (const [head, status] of [
    ['POST /notes HTTP/1.0', 201],
    ['POST /notes HTTP/1.0\r\nOrigin: http://undefined', 403],
    ['POST /notes HTTP/1.1\r\nHost:\r\nConnection: close\r\nOrigin: foo:bar', 403],
  ] as const) {
    const text = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    assert.equal((await exchange(service, text)).status, status, head);
  }
});

const ADDRESSES = ['192.0.2.7', '192.0.2.7:3000', '0.0.0.0', '[2001:db8::7]:3000', '[::2]'];

for (const baseUrl of ['https://notes.example/api', 'https://Notes.example.:8443'])
  test(`hosts: a service that others reach at ${baseUrl} refuses other names`, async (t) => {
    const options = { host: '0.0.0.0', allowAnonymous: true, baseUrl };
    const reachable = await startService(t, options);
    const statusTo = async (host: string, target = '/notes') =>
      (await exchange(reachable, bare(`Host: ${host}\r\n${CLOSE}`, target))).status;
    for (const host of [...ACCEPTED, ...ADDRESSES]) {
      assert.equal(await statusTo(host), 200, host);
      assert.equal(await statusTo('evil.example', `http://${host || 'localhost'}/notes`), 200);
    }
    const names = REFUSED.filter((host) => /[a-z]/.test(host) && !host.startsWith('['));
    for (const host of [...names, '192.0.2.7.evil.example', '1.2.3', 'notes']) {
      assert.equal(await statusTo(host), 403, host);
      assert.equal(await statusTo('localhost', `http://${host}/notes`), 403, host);
      // For load balancers, which ask by names of their own.
      for (const path of ['/health', '/livez', '/readyz'])
        assert.equal(await statusTo(host, path), 200, path);
    }
    const old = 'GET /notes HTTP/1.0\r\n\r\n';
    assert.equal((await exchange(reachable, old)).status, 200);
    const headers = { host: 'evil.example:3000', origin: 'http://evil.example:3000' };
    const rebound = await reachable.request('POST', '/notes', { json: NOTE, headers });
    assert.equal(rebound.status, 403);
  });

test('hosts: a service that others reach takes any host without --base-url', async (t) => {
  const reachable = await startService(t, { host: '0.0.0.0', allowAnonymous: true });
  for (const host of ['evil.example', 'notes.example:80'])
    assert.equal((await reachable.request('GET', '/notes', { headers: { host } })).status, 200);
});

test('cors: without allowed origins no answer mentions them', async () => {
  for (const headers of [
    { origin: SITE },
    { origin: SITE, 'access-control-request-method': 'GET' },
  ]) {
    const answer = await service.request('OPTIONS', '/notes', { headers });
    const names = Object.keys(answer.headers).filter((name) => /^(access-control|vary)/.test(name));
    assert.deepEqual([answer.status, names], [204, []]);
  }
});

test('cors: an allowed origin reads every answer and writes', async (t) => {
  const service = await startService(t, {
    corsOrigins: [SITE, 'http://localhost:5173'],
    apiKeys: ['one'],
    rateLimit: 100,
  });
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
  const exposed =
    'accept, accept-patch, allow, content-location, etag, idempotent-replayed, link, location, ' +
    'ratelimit, ratelimit-policy, retry-after, www-authenticate, x-request-id';
  for (const answer of answers) {
    assert.equal(answer.headers['access-control-allow-origin'], SITE);
    assert.equal(answer.headers['access-control-expose-headers'], exposed);
    assert.match(String(answer.headers.vary), /\borigin\b/);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  }
  const others = ['https://app.example.evil', 'https://APP.example', 'https://app.example:443'];
  for (const origin of [...others, 'null', undefined]) {
    const headers = { ...key, ...(origin && { origin }) };
    const answer = await service.request('GET', '/notes', { headers });
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
    assert.equal(answer.headers.vary, 'accept, origin');
    const written = await service.request('POST', '/notes', { json: NOTE, headers });
    assert.equal(written.status, origin ? 403 : 201, origin);
  }
});

test('cors: extensions and apps read and write, if their origin is allowed', async (t) => {
  const allowed = ['chrome-extension://abcdefghijklmnopabcdefghijklmnop', 'app://obsidian.md'];
  const { corsOrigins } = optionsFor('--cors-origin', allowed.join());
  const service = await startService(t, { corsOrigins });
  const others = ['chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba', 'app://other', 'null'];
  for (const origin of [...allowed, ...others]) {
    const isAllowed = allowed.includes(origin);
    for (const site of [{}, { 'sec-fetch-site': 'cross-site' }]) {
      const headers = { origin, ...site };
      const asks = { ...headers, 'access-control-request-method': 'POST' };
      const answers = [
        await send(service.url, 'OPTIONS', '/notes', { headers: asks }),
        await service.request('POST', '/notes', { json: NOTE, headers }),
        await service.request('GET', '/notes', { headers }),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [204, isAllowed ? 201 : 403, 200],
      );
      for (const [index, { headers: said }] of answers.entries()) {
        const names = ['allow-origin', index === 0 ? 'allow-methods' : 'expose-headers'];
        const [named, other] = names.map((name) => said[`access-control-${name}`]);
        assert.deepEqual([named, other !== undefined], [isAllowed ? origin : undefined, isAllowed]);
      }
    }
  }
});

test('cors: a preflight needs no key and uses up no quota', async (t) => {
  const service = await startService(t, { corsOrigins: [SITE], apiKeys: ['one'], rateLimit: 1 });
  const asks = {
    origin: SITE,
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'x-api-key',
  };
  const lines = Object.entries(asks).map(([name, value]) => `${name}: ${value}`);
  for (const path of ['/notes', '/notes/1', '/notes/1/tags/1', '/nowhere']) {
    const { status, headers } = await exchange(
      service,
      requestText(`OPTIONS ${path}`, ['connection: close', ...lines]),
    );
    assert.equal(status, 204);
    assert.equal(headers['access-control-allow-origin'], SITE);
    assert.equal(headers['access-control-allow-methods'], 'GET, HEAD, POST, PUT, PATCH, DELETE');
    assert.equal(
      headers['access-control-allow-headers'],
      'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, ' +
        'mcp-method, mcp-name, mcp-protocol-version, traceparent, tracestate, x-api-key, ' +
        'x-request-id',
    );
    assert.match(headers['access-control-max-age'] ?? '', /^[1-9]\d+$/);
    assert.equal(headers.vary, 'origin');
  }
  for (const [method, headers] of [
    ['GET', asks],
    ['POST', asks],
    ['OPTIONS', { origin: SITE }],
    ['OPTIONS', { 'access-control-request-method': 'DELETE' }],
    ['OPTIONS', { ...asks, origin: 'https://evil.example' }],
  ] as const) {
    const refused = await service.request(method, '/notes', { headers });
    const { origin = '' }: Partial<typeof asks> = headers;
    assert.equal(refused.status, 401);
    assert.equal(
      refused.headers['access-control-allow-origin'],
      origin === SITE ? SITE : undefined,
    );
  }
});
