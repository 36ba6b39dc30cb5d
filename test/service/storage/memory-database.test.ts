// --db :memory: has one connection for reads and writes alike; clients see no difference, but for what a restart keeps.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { startService } from '../../support/service.ts';

const MEMORY = { db: ':memory:' };
const NOTE = { title: 'a', body: 'b' };

test('a database in memory keeps notes with their comments, and deletes them together', async (t) => {
  const service = await startService(t, MEMORY);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).headers.location, '/notes/1');
  assert.equal((await service.request('POST', '/notes/1/comments', { json: { body: 'c' } })).status, 201);
  assert.equal((await service.request('POST', '/notes/2/comments', { json: { body: 'c' } })).status, 404);
  assert.equal((await service.request('PUT', '/notes/1', { json: { title: 'new', body: 'b' } })).status, 200);
  assert.deepEqual((await service.request('GET', '/notes')).json, {
    items: [{ id: 1, title: 'new', body: 'b' }],
    limit: 20,
    offset: 0,
    total: 1,
  });
  assert.equal((await service.request('GET', '/notes/1/comments')).json.total, 1);
  assert.equal((await service.request('DELETE', '/notes/1')).status, 204);
  assert.equal((await service.request('GET', '/notes/1/comments/1')).status, 404);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).json.id, 2);
  assert.equal((await service.request('GET', '/health')).text, '{"status":"ok","db":"ok"}');
});

test('a database in memory answers reads and writes that come together, and no list is half of a change', async (t) => {
  const service = await startService(t, MEMORY);
  const writes = Array.from({ length: 300 }, () => service.request('POST', '/notes', { json: NOTE }));
  const lists = Array.from({ length: 100 }, () => service.request('GET', '/notes?limit=100'));
  const ids = (await Promise.all(writes)).map(({ json }) => json.id);
  assert.deepEqual(
    ids.sort((one, other) => one - other),
    Array.from({ length: 300 }, (_, index) => index + 1),
  );
  for (const { json } of await Promise.all(lists)) {
    assert.deepEqual(
      json.items.map(({ id }: { id: number }) => id),
      Array.from({ length: Math.min(100, json.total) }, (_, index) => index + 1),
    );
  }
});

test('a database in memory is its own, leaves no file, and is gone with the service', async (t) => {
  const services = [await startService(t, MEMORY), await startService(t, MEMORY)] as const;
  await services[0].request('POST', '/notes', { json: NOTE });
  assert.equal((await services[1].request('GET', '/notes')).json.total, 0);
  await services[0].close();
  const next = await startService(t, MEMORY);
  assert.equal((await next.request('GET', '/notes')).json.total, 0);
  assert.equal(existsSync(':memory:'), false);
});
