// What clients see while another program locks the file of a running service: 503 to writes that waited their five
// seconds for the lock and nothing half done, reads as ever, and no help needed afterwards. They run side by side.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { holdLock } from '../../support/databases.ts';
import { needsFile } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

describe('when another program locks the file', { concurrency: 3, skip: needsFile }, () => {
  test('writes are 503 and reads go on, and all is well once it lets go', async (t) => {
    const service = await startService(t);
    await service.request('POST', '/notes', { json: NOTE });
    await service.request('POST', '/notes/1/comments', { json: { body: 'kept' } });
    const release = await holdLock(t, service.file, 'BEGIN EXCLUSIVE');

    let waiting = true;
    const writes = Promise.all([
      service.request('POST', '/notes', { json: NOTE }),
      service.request('PUT', '/notes/1', { json: { title: 'lost', body: 'lost' } }),
      service.request('POST', '/tags', { json: { name: 'lost' } }),
      service.request('PUT', '/notes/1/comments/1', { json: { body: 'lost' } }),
      service.request('DELETE', '/notes/1'),
    ]).finally(() => {
      waiting = false;
    });
    const asked = performance.now();
    const health = await service.request('GET', '/health');
    assert.ok(performance.now() - asked < 3_000);
    assert.deepEqual({ status: health.status, db: health.json.db }, { status: 503, db: 'error' });
    let reads = 0;
    while (waiting) {
      const answers = await Promise.all(
        ['/notes/1', '/notes', '/notes/1/comments/1', '/tags'].map((path) => service.request('GET', path)),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      reads += 1;
    }
    assert.ok(reads > 10);
    for (const answer of await writes) assertUnavailable(answer);
    const told = service.log.filter(({ level }) => level === 'error').map(({ fields }) => String(fields.error));
    assert.equal(told.filter((error) => error.includes('database is locked')).length, 5);

    await release();
    await until(() => isHealthy(service));
    assert.equal((await service.request('GET', '/notes/1')).text, '{"id":1,"title":"a","body":"b"}');
    assert.equal((await service.request('GET', '/notes/1/comments/1')).json.body, 'kept');
    assert.equal((await service.request('GET', '/tags')).json.total, 0);
    const created = await service.request('POST', '/notes', { json: NOTE });
    assert.deepEqual({ status: created.status, id: created.json.id }, { status: 201, id: 2 });
    await assertSound(service.file);
  });

  test('after a write that was refused, writes of every mixture work', async (t) => {
    const service = await startService(t);
    const release = await holdLock(t, service.file, 'BEGIN IMMEDIATE');
    assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
    await release();
    const mixture = [
      service.request('POST', '/tags', { json: { name: 'a' } }),
      service.request('DELETE', '/notes/1'),
      service.request('POST', '/tags', { json: { name: 'b' } }),
    ];
    assert.deepEqual(
      (await Promise.all(mixture)).map(({ status }) => status),
      [201, 404, 201],
    );
  });

  test('a write waits for a lock that is given back in time', async (t) => {
    const service = await startService(t);
    const release = await holdLock(t, service.file, 'BEGIN IMMEDIATE');
    const write = service.request('POST', '/notes', { json: NOTE });
    await until(async () => !(await isHealthy(service)));
    await release();
    assert.equal((await write).status, 201);
    await until(() => isHealthy(service));
  });
});
