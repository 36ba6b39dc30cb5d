// A database in memory has one connection for reads and writes. Clients see no difference, except
// that a restart loses all.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { startService } from '../../support/service.ts';

const MEMORY = { db: ':memory:' };
const NOTE = { title: 'a', body: 'b' };

test('memory database: concurrent reads and writes, lists are whole', async (t) => {
  const service = await startService(t, MEMORY);
  const writes = Array.from({ length: 100 }, () =>
    service.request('POST', '/notes', { json: NOTE }),
  );
  const lists = Array.from({ length: 30 }, () => service.request('GET', '/notes?limit=100'));
  const ids = (await Promise.all(writes)).map(({ json }) => json.id);
  assert.deepEqual(
    ids.sort((one, other) => one - other),
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
  for (const { json } of await Promise.all(lists)) {
    assert.deepEqual(
      json.items.map(({ id }: { id: number }) => id),
      Array.from({ length: Math.min(100, json.total) }, (_, index) => index + 1),
    );
  }
});

test('memory database: private, without a file, gone at the end', async (t) => {
  const services = [await startService(t, MEMORY), await startService(t, MEMORY)] as const;
  await services[0].request('POST', '/notes', { json: NOTE });
  assert.equal((await services[1].request('GET', '/notes')).json.total, 0);
  await services[0].close();
  const next = await startService(t, MEMORY);
  assert.equal((await next.request('GET', '/notes')).json.total, 0);
  assert.equal(existsSync(':memory:'), false);
});
