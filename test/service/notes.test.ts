import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from './harness.ts';

test('a created note comes back with its id and its location', async (t) => {
  const service = await startService(t);
  const created = await service.request('POST', '/notes', { json: { title: 'a', body: 'b' } });
  assert.equal(created.status, 201);
  assert.deepEqual(created.json, { id: 1, title: 'a', body: 'b' });
  assert.equal(created.headers.location, '/notes/1');
  const read = await service.request('GET', '/notes/1');
  assert.equal(read.status, 200);
  assert.equal(read.text, created.text);
});
