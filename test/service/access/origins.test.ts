// What browsers may do on behalf of other sites, over HTTP. The tables are in the unit tests.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { send } from '../../support/http.ts';
import { exchange, exchangeLast, requestText } from '../../support/raw.ts';
import { expected } from '../../support/records.ts';
import { optionsFor, startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };
const SITE = 'https://app.example';

const service = await startService({ after });

test('origins: a write of another site is 403 and changes nothing', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: NOTE });
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: SITE },
    { origin: 'null' },
  ]) {
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
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE'])
      assert.notEqual((await service.request(method, '/notes', { headers })).status, 403);
  }
  assert.deepEqual((await service.request('GET', '/notes')).json.items, [
    expected({ id: 1, ...NOTE }),
  ]);
});

test('origins: at /mcp another site may not even read', async (t) => {
  const service = await startService(t, { corsOrigins: [SITE] });
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ];
  for (const headers of [...foreign, {}, { origin: SITE }, { origin: service.url }]) {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      const { status } = await service.request(method, '/mcp', { headers });
      const isForeign = foreign.includes(headers);
      assert.equal(status === 403, isForeign, `${method} ${JSON.stringify(headers)}`);
    }
    for (const path of ['/mcp/x', '/health'])
      assert.notEqual((await service.request('GET', path, { headers })).status, 403);
  }
});

test('origins: a write from the same site or no browser is stored', async () => {
  for (const headers of [{}, { origin: service.url }, { 'sec-fetch-site': 'none' }])
    assert.equal((await service.request('POST', '/notes', { json: NOTE, headers })).status, 201);
});

test('origins: the base URL is the same site, and its host is accepted', async (t) => {
  const service = await startService(t, { baseUrl: 'https://notes.example/api' });
  const post = async (headers: Record<string, string>) =>
    (await service.request('POST', '/notes', { json: NOTE, headers })).status;
  assert.equal(await post({ origin: 'https://notes.example' }), 201);
  assert.equal(await post({ origin: 'https://notes.example', host: 'notes.example' }), 201);
  assert.equal(await post({ origin: 'https://notes.example:444' }), 403);
});

test('hosts: a service on loopback answers to local names alone', async (t) => {
  const elsewhere = await startService(t, { host: '127.0.0.2' });
  const byName = await startService(t, { host: 'localhost' });
  for (const each of [service, elsewhere, byName]) {
    for (const [host, status] of [
      ['evil.example', 403],
      ['localhost', 200],
      ['127.0.0.1:1', 200],
    ] as const)
      assert.equal(
        (await each.request('GET', '/health', { headers: { host } })).status,
        status,
        host,
      );
  }
});

test('hosts: an absolute target overrides the host header', async () => {
  for (const [target, status] of [
    ['http://localhost:1/health', 200],
    ['http://evil.example/health', 403],
    ['HTTP://evil.example', 403],
  ] as const)
    assert.equal((await exchangeLast(service, `GET ${target}`)).status, status, target);
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

test('hosts: a service that others reach takes any host', async (t) => {
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
  const other = { ...key, origin: 'https://app.example.evil' };
  const answer = await service.request('GET', '/notes', { headers: other });
  assert.deepEqual(
    [answer.headers['access-control-allow-origin'], answer.headers.vary],
    [undefined, 'accept, origin'],
  );
  assert.equal(
    (await service.request('POST', '/notes', { json: NOTE, headers: other })).status,
    403,
  );
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

test('cors: pages of an allowed origin put tags on notes and follow links', async (t) => {
  const service = await startService(t, { corsOrigins: [SITE] });
  const headers = { origin: SITE, 'sec-fetch-site': 'cross-site' };
  await service.request('POST', '/tags', { json: { name: 'a' } });
  for (const tag_ids of [[], [1]])
    await service.request('POST', '/notes', { json: { ...NOTE, tag_ids }, headers });
  const path = '/notes/1/tags/1';
  for (const method of ['PUT', 'DELETE']) {
    const foreign = { ...headers, origin: 'https://evil.example' };
    assert.equal((await service.request(method, path, { headers: foreign })).status, 403);
    assert.equal((await service.request(method, path, { headers })).status, 204);
  }
  const { headers: said } = await service.request('GET', '/notes?limit=1', { headers });
  assert.ok(String(said.link).startsWith(`<${service.url}/notes?limit=1&offset=1>; rel="next"`));
  assert.match(String(said['access-control-expose-headers']), /\blink\b/);
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
  const other = { ...asks, origin: 'https://evil.example' };
  for (const [method, headers] of [
    ['OPTIONS', { origin: SITE }],
    ['GET', asks],
    ['POST', asks],
  ] as const)
    assert.equal((await service.request(method, '/notes', { headers })).status, 401);
  const refused = await service.request('OPTIONS', '/notes', { headers: other });
  assert.deepEqual(
    [refused.status, refused.headers['access-control-allow-origin']],
    [401, undefined],
  );
});
