// Entity tags and conditional requests on records and lists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS } from '../../support/collections.ts';
import { startService } from '../../support/service.ts';
import { testConditions } from './conditions-suite.ts';

// Tags differ from notes in their names alone.
for (const each of COLLECTIONS) if (each.label !== 'Tag') testConditions(each);

test('conditions: tags survive a restart and mean nothing to another database', async (t) => {
  const first = await startService(t);
  const json = { name: 'a' };
  const { etag } = (await first.request('POST', '/tags', { json })).headers;
  await first.close();
  const again = await startService(t, { db: first.file });
  const known = { headers: { 'if-none-match': String(etag) } };
  assert.equal((await again.request('GET', '/tags/1', known)).status, 304);
  const other = await startService(t);
  const { headers } = await other.request('POST', '/tags', { json });
  assert.notEqual(headers.etag, etag);
  assert.equal((await other.request('GET', '/tags/1', known)).status, 200);
  const condition = { headers: { 'if-match': String(etag) } };
  assert.equal((await other.request('DELETE', '/tags/1', condition)).status, 412);
});
