// What clients see while the file of a running service, or one of its companions, is not in its place: writes are 503, for
// what went into a file that nobody finds again would be lost; reads go on; put back, all is well.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { startCommand, stop } from '../../support/command.ts';
import { needsFile, temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';

/** What is taken away, seen from the path of the database. */
const PLACES: Record<string, (path: string) => string> = {
  'the file': (path) => path,
  'its log': (path) => `${path}-wal`,
  'its shared index': (path) => `${path}-shm`,
  'its folder': (path) => dirname(path),
};

for (const [what, placeOf] of Object.entries(PLACES)) {
  test(`while ${what} is not in its place, writes are 503 and reads go on; put back, all is well`, async (t) => {
    const folder = join(temporaryFolder(t), 'data');
    mkdirSync(folder);
    const service = await startService(t, { db: join(folder, 'notes.db') });
    await service.request('POST', '/notes', { json: NOTE });
    const place = placeOf(service.file);
    const elsewhere = `${place}.elsewhere`;
    renameSync(place, elsewhere);
    for (const put of [() => {}, () => writeFileSync(place, 'another file')]) {
      put();
      assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
      assertUnavailable(await service.request('DELETE', '/notes/1'));
      assert.equal(await isHealthy(service), false);
      assert.equal((await service.request('GET', '/notes/1')).status, 200);
    }
    assert.equal(readFileSync(place, 'utf8'), 'another file');
    const told = service.log.find(({ level }) => level === 'error');
    assert.match(String(told?.fields.error), /moved, deleted or replaced/);

    rmSync(place);
    renameSync(elsewhere, place);
    assert.equal(await isHealthy(service), true);
    assert.equal((await service.request('POST', '/notes', { json: NOTE })).json.id, 2);
    assert.equal((await service.request('GET', '/notes')).json.total, 2);
    await assertSound(service.file);
  });
}

test('a copy in the place of the file is another file', { skip: needsFile }, async (t) => {
  const service = await startService(t);
  await service.request('POST', '/notes', { json: NOTE });
  copyFileSync(service.file, `${service.file}.copy`);
  renameSync(`${service.file}.copy`, service.file);
  assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
});

test('where the path is a link, the companions are those of the file it leads to', { skip: needsFile }, async (t) => {
  const service = await startService(t);
  await service.close();
  const link = join(temporaryFolder(t), 'link.db');
  symlinkSync(service.file, link);
  const linked = await startService(t, { db: link });
  assert.equal((await linked.request('POST', '/notes', { json: NOTE })).status, 201);
  renameSync(`${service.file}-wal`, `${service.file}-elsewhere`);
  assertUnavailable(await linked.request('POST', '/notes', { json: NOTE }));
  renameSync(`${service.file}-elsewhere`, `${service.file}-wal`);
  assert.equal((await linked.request('POST', '/notes', { json: NOTE })).status, 201);
});

for (const companion of ['-wal', '-shm']) {
  test(`when ${companion} was deleted, a stop keeps all that was acknowledged`, async (t) => {
    const db = join(temporaryFolder(t), 'notes.db');
    const args = ['--port', '0', '--log-level', 'silent', '--db', db];
    const first = startCommand(t, args);
    const url = await first.ready();
    const created = await request(url, 'POST', '/notes', { json: NOTE });
    assert.equal(created.status, 201);
    rmSync(`${db}${companion}`);
    assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 503);
    assert.equal((await stop(first)).status, 0);

    const next = startCommand(t, args);
    const nextUrl = await next.ready();
    assert.equal((await request(nextUrl, 'GET', '/notes/1')).text, created.text);
    assert.equal((await request(nextUrl, 'POST', '/notes', { json: NOTE })).headers.location, '/notes/2');
    assert.equal((await stop(next)).status, 0);
    await assertSound(db);
  });
}
