// What clients see while there is no room for more: writes are 503, reads go on, and no help is needed afterwards. On a
// small file system that is really full, where one may be mounted, and everywhere by SQLite's own bound on its pages.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import sqlite3 from 'sqlite3';
import { checkFile } from '../../../src/storage/check.ts';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { newFile } from '../../support/databases.ts';
import { type Answer, request } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';

/** A service that will run out of room, and what makes room again. */
interface Cramped {
  readonly service: Service;
  readonly makeRoom: () => unknown;
}

/** Starts a service on a disk on which something else takes up half of the room. */
async function onSmallDisk(test: TestContext): Promise<Cramped | undefined> {
  const folder = smallDisk(test);
  if (!folder) return undefined;
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(1_048_576));
  return { service: await startService(test, { db: join(folder, 'notes.db') }), makeRoom: () => rmSync(ballast) };
}

/** Starts a service whose connections let the file have no more than sixty pages. */
async function withFewPages(test: TestContext): Promise<Cramped> {
  const connections = new Set<sqlite3.Database>();
  const original = sqlite3.Database.prototype.exec;
  sqlite3.Database.prototype.exec = function (...parts) {
    connections.add(this);
    return original.apply(this, parts);
  };
  const service = await startService(test, { db: newFile(test) });
  sqlite3.Database.prototype.exec = original;
  const allow = (pages: number) => {
    const asked = [...connections].map(
      (connection) =>
        new Promise<void>((resolve, reject) => {
          connection.exec(`PRAGMA max_page_count = ${pages}`, (error) => (error ? reject(error) : resolve()));
        }),
    );
    return Promise.all(asked);
  };
  assert.equal(connections.size, 3);
  await allow(60);
  return { service, makeRoom: () => allow(1_000_000) };
}

for (const { where, make } of [
  { where: 'on a full disk', make: onSmallDisk },
  { where: 'where the file may not grow (max_page_count)', make: withFewPages },
]) {
  test(`${where} writes are 503 and reads go on; with room again, writes do too`, async (t) => {
    const cramped = await make(t);
    if (!cramped) return skipLoudly(t, NO_MOUNT);
    const { service, makeRoom } = cramped;
    const kept: Answer[] = [];
    const post = () => service.request('POST', '/notes', { json: { title: 'a', body: 'x'.repeat(30_000) } });

    let refused: Answer | undefined;
    for (let count = 0; count < 100 && !refused; count += 1) {
      const answer = await post();
      if (answer.status === 201) kept.push(answer);
      else refused = answer;
    }
    assertUnavailable(refused ?? assert.fail('the disk did not fill'));
    assert.ok(kept.length > 3);
    // Larger than what was refused: something small might still fit into what that left.
    const larger = service.request('PUT', '/notes/1', { json: { title: 'lost', body: 'x'.repeat(100_000) } });
    for (const answer of await Promise.all([post(), post(), larger, post()])) assertUnavailable(answer);
    for (const { headers, text } of kept) {
      assert.equal((await service.request('GET', String(headers.location))).text, text);
    }
    assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
    await assertSound(service.file);

    await makeRoom();
    assert.equal((await post()).status, 201);
    assert.equal((await service.request('DELETE', '/notes/1')).status, 204);
    assert.equal((await service.request('GET', '/notes')).json.total, kept.length);
    assert.ok(await isHealthy(service));
    await assertSound(service.file);
  });
}

test('a start on a full disk is refused in one line, and works once there is room', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const db = join(folder, 'notes.db');
  const args = ['--port', '0', '--log-level', 'silent', '--db', db];
  const ballast = join(folder, 'ballast');
  for (const left of [0, 4_096, 8_192, 40_960]) {
    writeFileSync(ballast, Buffer.alloc(2_097_152 - left));
    assertRefused(await runCommand(t, args), 1, /cannot open the database .*notes\.db: .*(?:full|I\/O|folder)/);
  }
  rmSync(ballast);
  const command = startCommand(t, args);
  assert.equal((await request(await command.ready(), 'POST', '/notes', { json: NOTE })).headers.location, '/notes/1');
  assert.equal((await stop(command)).status, 0);
  assert.deepEqual(await checkFile(db), []);
});
