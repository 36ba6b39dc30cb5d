// What clients see while the database of a running service fails: 503 and nothing half done, reads as far as they can be
// served, and no help needed afterwards. Those on locks run side by side, for a write waits five seconds for a lock.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { change, holdLock, newFile, openDatabase, openOther } from '../storage/databases.ts';
import { type JsonAnswer, type Service, startService } from './harness.ts';
import { skipLoudly } from './skip.ts';
import { until } from './until.ts';

const NOTE = { title: 'a', body: 'b' };

function assertUnavailable({ status, json, headers }: JsonAnswer): void {
  assert.equal(status, 503);
  assert.match(json.type, /\/problems\/service-unavailable$/);
  assert.equal(json.detail, 'The database cannot serve this request now.');
  assert.match(String(headers['retry-after']), /^[1-9]\d*$/);
}

/** Asserts that the database is sound and its counts are right, whoever else has it open. */
async function assertSound(test: TestContext, path: string): Promise<void> {
  const other = await openOther(test, path);
  const counts = `SELECT (SELECT count(*) FROM notes) = (SELECT coalesce(sum(count), 0) FROM note_blocks) AS agree`;
  assert.deepEqual(await other.run({ sql: 'PRAGMA integrity_check' }), [{ integrity_check: 'ok' }]);
  assert.deepEqual(await other.run({ sql: 'PRAGMA foreign_key_check' }), []);
  assert.deepEqual(await other.run({ sql: counts }), [{ agree: 1 }]);
}

const isHealthy = async (service: Service) => (await service.request('GET', '/health')).json.db === 'ok';

describe('when another program locks the file', { concurrency: 3 }, () => {
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
    await assertSound(t, service.file);
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
  await assertSound(t, service.file);
});

test('a damaged page costs the records on it, and no others', async (t) => {
  const path = newFile(t);
  const total = 1_000;
  const database = await openDatabase(t, path);
  const numbers = `WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${total})`;
  await change(
    database,
    `INSERT INTO notes (title, body)
     SELECT * FROM (${numbers} SELECT 'note ' || n || '!', printf('%.*c', 1000, 'x') FROM numbers)`,
  );
  await database.close();
  const bytes = readFileSync(path);
  const start = bytes.indexOf('note 500!');
  writeFileSync(path, bytes.fill(0xff, start - (start % 4_096), start - (start % 4_096) + 4_096));

  const service = await startService(t, { db: path });
  const faulty = [
    service.request('GET', '/notes/500'),
    service.request('PUT', '/notes/500', { json: NOTE }),
    service.request('DELETE', '/notes/500'),
    service.request('GET', '/notes?offset=490'),
  ];
  for (const answer of await Promise.all(faulty)) assertUnavailable(answer);

  assert.ok(await isHealthy(service));
  for (const id of [1, 400, 600, total]) assert.equal((await service.request('GET', `/notes/${id}`)).json.id, id);
  assert.equal((await service.request('GET', '/notes?limit=100')).json.items.length, 100);
  assert.equal((await service.request('PUT', '/notes/600', { json: NOTE })).status, 200);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).json.id, total + 1);
  assert.equal((await service.request('DELETE', `/notes/${total + 1}`)).status, 204);
});
