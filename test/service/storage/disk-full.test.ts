// A file that may not grow (max_page_count): writes are 503, reads go on, and writes work when
// there is room again.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import sqlite3 from 'sqlite3';
import { newFile } from '../../support/databases.ts';
import type { Answer } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertUnavailable, DISK_FULL, isHealthy } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';

interface Cramped {
  readonly service: Service;
  readonly makeRoom: () => unknown;
}

async function withFewPages(test: TestContext): Promise<Cramped> {
  const connections = new Set<sqlite3.Database>();
  const original = sqlite3.Database.prototype.exec;
  sqlite3.Database.prototype.exec = function (...args) {
    if (Reflect.get(this, 'filename') !== ':memory:') connections.add(this);
    return original.apply(this, args);
  };
  const service = await startService(test, { db: newFile(test) });
  sqlite3.Database.prototype.exec = original;
  const allow = (pages: number) => {
    const done = [...connections].map(
      (connection) =>
        new Promise<void>((resolve, reject) => {
          connection.exec(`PRAGMA max_page_count = ${pages}`, (error) =>
            error ? reject(error) : resolve(),
          );
        }),
    );
    return Promise.all(done);
  };
  assert.equal(connections.size, 4);
  await allow(100);
  return { service, makeRoom: () => allow(1_000_000) };
}

/** Asserts that without room writes are 503 and reads go on, and that all works afterwards. */
async function runOutOfRoom({ service, makeRoom }: Cramped): Promise<void> {
  const kept: Answer[] = [];
  // The words of this note do not fit on the disk.
  const body = Array.from({ length: 4_000 }, (_, index) => `word${index}`).join(' ');
  const post = () => service.request('POST', '/notes', { json: { title: 'a', body } });
  const search = () => service.request('GET', '/notes?q=word1');

  let refused: Answer | undefined;
  for (let count = 0; count < 100 && !refused; count += 1) {
    const answer = await post();
    if (answer.status === 201) kept.push(answer);
    else refused = answer;
  }
  assertUnavailable(refused ?? assert.fail('the disk did not fill'), DISK_FULL);
  assert.ok(kept.length > 3);
  // Larger than the refused one: something small might still fit.
  const larger = service.request('PUT', '/notes/1', {
    json: { title: 'lost', body: 'x'.repeat(100_000) },
  });
  for (const answer of await Promise.all([post(), post(), larger, post()]))
    assertUnavailable(answer, DISK_FULL);
  for (const { headers, text } of kept) {
    assert.equal((await service.request('GET', String(headers.location))).text, text);
  }
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
  assertUnavailable(await search(), DISK_FULL);
  // Out of rotation, it could serve no reads.
  assert.equal((await service.request('GET', '/readyz')).status, 200);
  await assertSound(service.file);

  await makeRoom();
  assert.equal((await post()).status, 201);
  assert.equal((await service.request('DELETE', '/notes/1')).status, 204);
  assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
  assert.equal((await search()).json.total, kept.length);
  assert.ok(await isHealthy(service));
  await assertSound(service.file);
}

test('full disk: writes are 503, reads go on, all works once there is room', async (t) =>
  runOutOfRoom(await withFewPages(t)));
