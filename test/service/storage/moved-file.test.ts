// The file of a running service, or one of its companions, is moved, replaced or deleted: writes
// are 503, as they would go into a file that nobody finds again; reads go on; when it is back,
// everything works.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { newFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { startService } from '../../support/service.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';

const PLACES: Record<string, (path: string) => string> = {
  'the file': (path) => path,
  'its log': (path) => `${path}-wal`,
  'its shared index': (path) => `${path}-shm`,
  'its folder': (path) => dirname(path),
};

/** The folder of the file has just changed, or not for so long that its time tells of changes. */
const CASES = Object.entries(PLACES).flatMap(([what, placeOf]) =>
  ['fresh', 'settled'].map((state) => [what, placeOf, state] as const),
);
const LONG_AGO_S = 1_000_000_000;

for (const [what, placeOf, state] of CASES) {
  test(`moved file: ${what} away, writes are 503 until it is back (${state} folder)`, async (t) => {
    const folder = join(temporaryFolder(t), 'data');
    mkdirSync(folder);
    const service = await startService(t, { db: join(folder, 'notes.db') });
    if (state === 'settled') utimesSync(folder, LONG_AGO_S, LONG_AGO_S);
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
    const logged = service.log.find(({ level }) => level === 'error');
    assert.match(String(logged?.fields.error), /moved, deleted or replaced/);

    rmSync(place);
    renameSync(elsewhere, place);
    assert.equal(await isHealthy(service), true);
    assert.equal((await service.request('POST', '/notes', { json: NOTE })).json.id, 2);
    assert.equal((await service.request('GET', '/notes')).json.total, 2);
    await assertSound(service.file);
  });
}

test('moved file: companions of a link are those of its target', async (t) => {
  const service = await startService(t, { db: newFile(t) });
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
  test(`moved file: a stop keeps all without ${companion}`, async (t) => {
    const service = await startService(t, { db: newFile(t) });
    const created = await service.request('POST', '/notes', { json: NOTE });
    rmSync(`${service.file}${companion}`);
    assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
    await service.close();

    const next = await startService(t, { db: service.file });
    assert.equal((await next.request('GET', '/notes/1')).text, created.text);
    assert.equal((await next.request('POST', '/notes', { json: NOTE })).json.id, 2);
    await next.close();
    await assertSound(service.file);
  });
}
