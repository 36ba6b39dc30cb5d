// How often clients may ask a running service, and what they are told about it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/http.ts';
import { startService } from '../../support/service.ts';

const NOTE = { title: 'a', body: 'b' };

function assertLimited({ status, json, headers }: Answer, quota: number): void {
  assert.equal(status, 429);
  const wait = Number(headers['retry-after']);
  assert.ok(wait >= 1 && wait <= Math.ceil(60 / quota), String(wait));
  assert.equal(json.detail, `Too many requests. Try again in ${wait} second${wait === 1 ? '' : 's'}.`);
  assert.equal(headers['ratelimit-policy'], `"default";q=${quota};w=60`);
  assert.match(String(headers.ratelimit), /^"default";r=0;t=\d+$/);
}

test('without a limit nobody is told of one', async (t) => {
  const service = await startService(t);
  const { headers } = await service.request('GET', '/notes');
  assert.deepEqual([headers.ratelimit, headers['ratelimit-policy']], [undefined, undefined]);
});

test('every answer tells what is left, errors too, and beyond the quota all but health is 429', async (t) => {
  const service = await startService(t, { rateLimit: 6 });
  const requests = [
    ['GET', '/notes', 200],
    ['POST', '/notes', 201],
    ['POST', '/notes', 201],
    ['GET', '/nowhere', 404],
    ['OPTIONS', '/notes', 204],
    ['GET', '/docs', 200],
  ] as const;
  for (const [index, [method, path, status]] of requests.entries()) {
    const answer = await service.request(method, path, method === 'POST' ? { json: NOTE } : {});
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
    assertLimited(await service.request(method, path, method === 'POST' ? { json: NOTE } : {}), 6);
  for (let asked = 0; asked < 20; asked += 1) {
    for (const path of ['/health', '/livez', '/readyz?verbose']) {
      const health = await service.request('GET', path);
      assert.deepEqual([health.status, health.headers.ratelimit], [200, undefined], path);
    }
  }
});

test('what was refused for its rate has done nothing', async (t) => {
  const service = await startService(t, { rateLimit: 2 });
  await service.request('POST', '/notes', { json: NOTE });
  await service.request('POST', '/notes', { json: NOTE });
  assertLimited(await service.request('DELETE', '/notes/1'), 2);
  assertLimited(await service.request('POST', '/notes', { json: NOTE }), 2);
  await service.close();
  const again = await startService(t, { db: service.file });
  assert.equal((await again.request('GET', '/notes')).json.total, 2);
});

test('with keys each key has a quota of its own, wherever it is used from, and nobody else takes from it', async (t) => {
  const service = await startService(t, { rateLimit: 3, apiKeys: ['one', 'two'], trustProxy: true });
  let host = 0;
  const ask = (headers: Record<string, string>) => {
    host += 1;
    return service.request('GET', '/notes', { headers: { ...headers, 'x-forwarded-for': `192.0.2.${host}` } });
  };
  // Those without a key are sent away before they could use anything up.
  for (let round = 0; round < 10; round += 1) assert.equal((await ask({})).status, 401);
  for (let round = 0; round < 3; round += 1) assert.equal((await ask({ 'x-api-key': 'one' })).status, 200);
  assertLimited(await ask({ 'x-api-key': 'one' }), 3);
  assertLimited(await ask({ authorization: 'Bearer one' }), 3);
  assert.equal((await ask({ 'x-api-key': 'two' })).status, 200);
});

test('without keys each address has a quota, which x-forwarded-for does not change unless the proxy is trusted', async (t) => {
  for (const [trustProxy, expected] of [
    [false, [200, 200, 429, 429]],
    [true, [200, 200, 200, 429]],
  ] as const) {
    const service = await startService(t, { rateLimit: 2, trustProxy });
    const statuses: number[] = [];
    for (const address of ['9.9.9.9, 192.0.2.1', '192.0.2.1', '192.0.2.2', '8.8.8.8, 192.0.2.1']) {
      const { status } = await service.request('GET', '/notes', { headers: { 'x-forwarded-for': address } });
      statuses.push(status);
    }
    assert.deepEqual(statuses, expected);
  }
});

test('the faults of a request are told in order: who may not come in, then how often, then what it asks for', async (t) => {
  const service = await startService(t, { rateLimit: 1, apiKeys: ['one'] });
  const key = { 'x-api-key': 'one' };
  const bad = { 'content-type': 'text/plain', 'sec-fetch-site': 'cross-site' };
  const ask = (headers: Record<string, string>) => service.request('PATCH', '/nowhere', { body: '{', headers });
  assert.equal((await ask(bad)).status, 403);
  assert.equal((await ask({ 'content-type': 'text/plain' })).status, 401);
  assert.equal((await ask({ ...key, ...bad })).status, 403);
  assert.equal((await ask(key)).status, 404);
  assert.equal((await ask(key)).status, 429);
  assert.equal((await ask({})).status, 401);
});
