// Quotas over HTTP: who has one, what the answers say, and what is never limited.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, RequestParts } from '../../support/http.ts';
import { stopQuotas } from '../../support/rate-limiter.ts';
import { startService } from '../../support/service.ts';
import { lines } from '../../support/tagged-notes.ts';

const NOTE = { title: 'a', body: 'b' };

stopQuotas({ after });

function assertLimited({ status, json, headers }: Answer, quota: number): void {
  assert.equal(status, 429);
  const wait = Number(headers['retry-after']);
  assert.ok(wait >= 1 && wait <= Math.ceil(60 / quota), String(wait));
  assert.equal(
    json.detail,
    `Too many requests. Try again in ${wait} second${wait === 1 ? '' : 's'}.`,
  );
  assert.equal(headers['ratelimit-policy'], `"default";q=${quota};w=60`);
  assert.match(String(headers.ratelimit), /^"default";r=0;t=\d+$/);
}

test('rate limits: off by default, and not mentioned then', async (t) => {
  const service = await startService(t);
  const { headers } = await service.request('GET', '/notes');
  assert.deepEqual([headers.ratelimit, headers['ratelimit-policy']], [undefined, undefined]);
});

test('rate limits: answers say what is left, then 429, except health', async (t) => {
  const service = await startService(t, { rateLimit: 6 });
  const send = (method: string, path: string) =>
    service.request(method, path, method === 'POST' ? { json: NOTE } : {});
  for (const [index, [method, path, status]] of (
    [
      ['GET', '/notes', 200],
      ['POST', '/notes', 201],
      ['POST', '/notes', 201],
      ['GET', '/nowhere', 404],
      ['OPTIONS', '/notes', 204],
      ['GET', '/docs', 200],
    ] as const
  ).entries()) {
    const answer = await send(method, path);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['ratelimit-policy'], '"default";q=6;w=60');
    assert.match(String(answer.headers.ratelimit), new RegExp(`^"default";r=${5 - index};t=\\d+$`));
  }
  for (const [method, path] of [
    ['GET', '/notes'],
    ['POST', '/notes'],
    ['GET', '/nowhere'],
    ['OPTIONS', '*'],
    ['GET', '/'],
    ['GET', '/openapi.json'],
  ] as const)
    assertLimited(await send(method, path), 6);
  for (const path of '/health /livez /readyz?verbose /health /livez /readyz /health'.split(' ')) {
    const health = await service.request('GET', path);
    assert.deepEqual([health.status, health.headers.ratelimit], [200, undefined], path);
  }
});

test('rate limits: a refused write changes nothing', async (t) => {
  const service = await startService(t, { rateLimit: 2 });
  await service.request('POST', '/notes', { json: NOTE });
  await service.request('POST', '/notes', { json: NOTE });
  assertLimited(await service.request('DELETE', '/notes/1'), 2);
  assertLimited(await service.request('POST', '/notes', { json: NOTE }), 2);
  await service.close();
  const again = await startService(t, { db: service.file });
  assert.equal((await again.request('GET', '/notes')).json.total, 2);
});

const bulk = (count: number) => lines(...Array(count).fill(NOTE));

test('rate limits: a bulk request counts once more for every 50 lines', async (t) => {
  const service = await startService(t, { rateLimit: 20 });
  let left = 20;
  for (const [count, cost] of [
    [1, 1],
    [49, 1],
    [50, 2],
    [99, 2],
    [100, 3],
  ] as const) {
    const { status, headers } = await service.request('POST', '/notes', bulk(count));
    left -= cost;
    assert.equal(status, 201);
    assert.match(String(headers.ratelimit), new RegExp(`^"default";r=${left};t=\\d+$`));
    assert.equal(headers['ratelimit-policy'], '"default";q=20;w=60');
  }
  // A body that violates the contract counts once.
  const wrong = await service.request('POST', '/notes', lines(...Array(500).fill({})));
  assert.equal(wrong.status, 422);
  assert.match(String(wrong.headers.ratelimit), /^"default";r=10;/);
  // One of the 11 that it takes is missing.
  const refused = await service.request('POST', '/notes', bulk(500));
  assert.equal(refused.status, 429);
  assert.equal(refused.headers['ratelimit-policy'], '"default";q=20;w=60');
  assert.match(String(refused.headers.ratelimit), /^"default";r=9;t=\d+$/);
  const wait = Number(refused.headers['retry-after']);
  assert.ok(wait >= 4 && wait <= 6, `${wait} s for 2 of 20 requests a minute`);
  assert.equal((await service.request('GET', '/notes')).json.total, 299);
});

test('rate limits: two tags of a bulk request count as a line, others do not', async (t) => {
  const service = await startService(t, { rateLimit: 40 });
  const ids = Array.from({ length: 100 }, (_, index) => index + 1);
  let left = 40;
  const send = async (cost: number, method: string, path: string, parts: RequestParts) => {
    const { headers, status } = await service.request(method, path, parts);
    left -= cost;
    assert.ok(status < 300, String(status));
    assert.match(String(headers.ratelimit), new RegExp(`^"default";r=${left};t=\\d+$`));
  };
  await send(3, 'POST', '/tags', lines(...ids.map((id) => ({ name: `${id}` }))));
  for (const [member, values] of Object.entries({ tag_ids: ids, tags: ids.map(String) })) {
    const note = { ...NOTE, [member]: values };
    const fewer = { ...NOTE, [member]: values.slice(3) };
    await send(1, 'POST', '/notes', { json: note });
    await send(1, 'PUT', '/notes/1', { json: note });
    await send(1, 'PATCH', '/notes/1', { json: { [member]: values.slice(1) } });
    await send(1, 'POST', '/notes', lines(fewer));
    await send(2, 'POST', '/notes', lines(note));
    await send(5, 'POST', '/notes', lines(...Array(3).fill(note), ...Array(48).fill(NOTE)));
  }
});

test('rate limits: below its charge, a bulk request takes the whole quota', async (t) => {
  for (const rateLimit of [1, 5, 11]) {
    const service = await startService(t, { rateLimit });
    const { status, headers } = await service.request('POST', '/notes', bulk(500));
    assert.equal(status, 201);
    assert.match(String(headers.ratelimit), /^"default";r=0;/);
    assertLimited(await service.request('GET', '/notes'), rateLimit);
  }
});

test('rate limits: each key has its own quota, from any address', async (t) => {
  const service = await startService(t, {
    rateLimit: 3,
    apiKeys: ['one', 'two'],
    trustProxy: true,
  });
  let host = 0;
  const get = (headers: Record<string, string>) => {
    host += 1;
    return service.request('GET', '/notes', {
      headers: { ...headers, 'x-forwarded-for': `192.0.2.${host}` },
    });
  };
  // Requests without a key are refused before they use up any quota.
  for (let round = 0; round < 4; round += 1) assert.equal((await get({})).status, 401);
  for (let round = 0; round < 3; round += 1)
    assert.equal((await get({ 'x-api-key': 'one' })).status, 200);
  assertLimited(await get({ 'x-api-key': 'one' }), 3);
  assertLimited(await get({ authorization: 'Bearer one' }), 3);
  assert.equal((await get({ 'x-api-key': 'two' })).status, 200);
});

for (const [trustProxy, expected] of [
  [false, [200, 200, 429, 429]],
  [true, [200, 200, 200, 429]],
] as const) {
  test(`rate limits: by address, trusted proxy: ${trustProxy}`, async (t) => {
    const service = await startService(t, { rateLimit: 2, trustProxy });
    const statuses: number[] = [];
    for (const address of ['9.9.9.9, 192.0.2.1', '192.0.2.1', '192.0.2.2', '8.8.8.8, 192.0.2.1']) {
      const { status } = await service.request('GET', '/notes', {
        headers: { 'x-forwarded-for': address },
      });
      statuses.push(status);
    }
    assert.deepEqual(statuses, expected);
  });
}

test('access: faults come in order: origin, key, quota, path', async (t) => {
  const service = await startService(t, { rateLimit: 1, apiKeys: ['one'] });
  const key = { 'x-api-key': 'one' };
  const bad = { 'content-type': 'text/plain', 'sec-fetch-site': 'cross-site' };
  const patch = async (headers: Record<string, string>) =>
    (await service.request('PATCH', '/nowhere', { body: '{', headers })).status;
  assert.equal(await patch(bad), 403);
  assert.equal(await patch({ 'content-type': 'text/plain' }), 401);
  assert.equal(await patch({ ...key, ...bad }), 403);
  assert.equal(await patch(key), 404);
  assert.equal(await patch(key), 429);
  assert.equal(await patch({}), 401);
});
