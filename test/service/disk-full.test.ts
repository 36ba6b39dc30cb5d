// What clients see while the disk of a running service is full: writes are 503, reads go on, and no help is needed afterwards.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type JsonAnswer, startService } from './harness.ts';
import { skipLoudly } from './skip.ts';
import { assertUnavailable, isHealthy } from './storage-faults.ts';
import { assertSound } from './stored-data.ts';

/** Mounts a small file system that lives in memory; undefined where that is not allowed. */
function smallDisk(test: TestContext, bytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'notes-server-test', folder]).status === 0;
  test.after(() => {
    // Lazily, for the service is still to be stopped.
    if (mounted) spawnSync('umount', ['--lazy', folder]);
    rmdirSync(folder);
  });
  return mounted ? folder : undefined;
}

test('on a full disk writes are 503 and reads go on; with room again, writes do too', async (t) => {
  const folder = smallDisk(t, 2_097_152);
  if (!folder) return skipLoudly(t, 'a file system may not be mounted here');
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(1_048_576));
  const service = await startService(t, { db: join(folder, 'notes.db') });
  const kept: JsonAnswer[] = [];
  const post = () => service.request('POST', '/notes', { json: { title: 'a', body: 'x'.repeat(30_000) } });

  let refused: JsonAnswer | undefined;
  for (let count = 0; count < 100 && !refused; count += 1) {
    const answer = await post();
    if (answer.status === 201) kept.push(answer);
    else refused = answer;
  }
  assertUnavailable(refused ?? assert.fail('the disk did not fill'));
  assert.ok(kept.length > 3);
  // Larger than what was refused: something small might still fit into what that left.
  const larger = service.request('PUT', '/notes/1', { json: { title: 'lost', body: 'x'.repeat(60_000) } });
  for (const answer of await Promise.all([post(), post(), larger, post()])) assertUnavailable(answer);
  for (const { headers, text } of kept) {
    assert.equal((await service.request('GET', String(headers.location))).text, text);
  }
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);

  rmSync(ballast);
  assert.equal((await post()).status, 201);
  assert.equal((await service.request('DELETE', '/notes/1')).status, 204);
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
  assert.ok(await isHealthy(service));
  await assertSound(service.file);
});
