// Entity tags and conditional requests on records and lists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLLECTIONS } from '../../support/collections.ts';
import { needsFile } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { beside } from '../../support/stored-data.ts';
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

test('conditions: tags with the highest numbers match', { skip: needsFile }, async (t) => {
  const { request, file } = await startService(t);
  await request('POST', '/tags', { json: { name: 'a' } });
  const sql = 'UPDATE tags SET number = 9007199254740000 WHERE id = 1';
  await beside(file, (connection) => connection.execute(sql));
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const { etag } = (await request('GET', '/tags/1')).headers;
    assert.match(String(etag), /-90071992547400\d\d"$/);
    const parts = { headers: { 'if-match': String(etag) } };
    const json = method === 'DELETE' ? {} : { json: { name: method } };
    const { status, text } = await request(method, '/tags/1', { ...parts, ...json });
    assert.equal(status, method === 'DELETE' ? 204 : 200, `${method} ${etag}: ${text}`);
  }
});
