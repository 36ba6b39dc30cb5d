// Another program locks the file of a running service: writes that wait too long are 503 and have
// no effect, reads go on, and everything works when the lock is released.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdLock, newFile } from '../../support/databases.ts';
import { shortenLockWaits } from '../../support/failing-driver.ts';
import { expectedText } from '../../support/records.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

test('locks: writes are 503, reads go on, all works afterwards', async (t) => {
  // Longer than the second that the health check waits for the writing connection.
  shortenLockWaits(t, 2_000);
  const service = await startService(t, { db: newFile(t) });
  await service.request('POST', '/notes', { json: NOTE });
  await service.request('POST', '/notes/1/comments', { json: { body: 'kept' } });
  const release = await holdLock(t, service.file, 'BEGIN EXCLUSIVE');

  const writes = Promise.all([
    service.request('POST', '/notes', { json: NOTE }),
    service.request('PUT', '/notes/1', { json: { title: 'lost', body: 'lost' } }),
    service.request('POST', '/tags', { json: { name: 'lost' } }),
    service.request('PUT', '/notes/1/comments/1', { json: { body: 'lost' } }),
    service.request('DELETE', '/notes/1'),
  ]);
  const health = await service.request('GET', '/health');
  assert.deepEqual({ status: health.status, db: health.json.db }, { status: 503, db: 'error' });
  for (const path of ['/notes/1', '/notes', '/notes/1/comments/1', '/tags'])
    assert.equal((await service.request('GET', path)).status, 200);
  for (const answer of await writes) assertUnavailable(answer);
  const isLocked = ({ fields }: { fields: { error?: unknown } }) =>
    String(fields.error).includes('database is locked');
  assert.equal(service.log.filter(isLocked).length, 5);

  await release();
  const tag = { json: { name: 'a' } };
  const mixture = [
    service.request('POST', '/tags', tag),
    service.request('DELETE', '/notes/99'),
    service.request('POST', '/tags', tag),
  ];
  const statuses = (await Promise.all(mixture)).map(({ status }) => status);
  assert.deepEqual(statuses, [201, 404, 201]);
  await until(() => isHealthy(service));
  assert.equal((await service.request('GET', '/notes/1')).text, expectedText({ id: 1, ...NOTE }));
  assert.equal((await service.request('GET', '/notes/1/comments/1')).json.body, 'kept');
  assert.equal((await service.request('GET', '/tags')).json.total, 2);
  const created = await service.request('POST', '/notes', { json: NOTE });
  assert.deepEqual({ status: created.status, id: created.json.id }, { status: 201, id: 2 });
  await assertSound(service.file);
});
