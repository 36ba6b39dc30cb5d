// What clients see while the file of a running service, or what belongs to it, is not in its place.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { startService } from './harness.ts';
import { assertUnavailable, isHealthy, NOTE } from './storage-faults.ts';

test('while the file is not in its place, writes are 503 and reads go on; put back, all is well', async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: NOTE });
  const elsewhere = `${service.file}.elsewhere`;
  renameSync(service.file, elsewhere);
  for (const put of [() => {}, () => writeFileSync(service.file, 'another file')]) {
    put();
    assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
    assertUnavailable(await service.request('DELETE', '/notes/1'));
    assert.equal(await isHealthy(service), false);
    assert.equal((await service.request('GET', '/notes/1')).status, 200);
  }
  assert.equal(readFileSync(service.file, 'utf8'), 'another file');

  renameSync(elsewhere, service.file);
  assert.equal(await isHealthy(service), true);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).json.id, 2);
  assert.equal((await service.request('GET', '/notes')).json.total, 2);
});
