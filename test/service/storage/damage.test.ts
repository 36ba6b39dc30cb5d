// Damage in the file of a service: records on a damaged page are 503, all others are served, also
// in the same batch; when the page is restored, everything works.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { change, newFile, openDatabase, withNumbers } from '../../support/databases.ts';
import type { Answer } from '../../support/http.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertUnavailable, isHealthy, NOTE } from '../../support/storage-faults.ts';
import { assertSound } from '../../support/stored-data.ts';

const PAGE_BYTES = 4_096;
const TOTAL = 1_000;

/** A closed database with a thousand notes, three on a page, to copy. */
const original = newFile({ after });

before(async () => {
  const database = await openDatabase({ after }, original);
  await change(
    database,
    `${withNumbers(TOTAL)} INSERT INTO notes (title, body)
     SELECT 'note ' || n || '!', printf('%.*c', 1000, 'x') FROM numbers`,
  );
  await database.close();
});

function copyNotes(test: TestContext): string {
  const path = newFile(test);
  copyFileSync(original, path);
  return path;
}

/** As another program: if this process closed the file, its service would lose its locks. */
function overwrite(path: string, page: number, input: Buffer): void {
  const args = [`of=${path}`, `bs=${PAGE_BYTES}`, `seek=${page}`, 'conv=notrunc,fsync'];
  assert.equal(spawnSync('dd', args, { input }).status, 0);
}

function damagePage(path: string, byte: number): () => void {
  const file = readFileSync(path);
  const page = Math.floor(file.indexOf('note 500!') / PAGE_BYTES);
  overwrite(path, page, Buffer.alloc(PAGE_BYTES, byte));
  return () => overwrite(path, page, file.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
}

function faulty(service: Service): Promise<Answer[]> {
  return Promise.all([
    service.request('GET', '/notes/500'),
    service.request('PUT', '/notes/500', { json: NOTE }),
    service.request('DELETE', '/notes/500'),
    service.request('GET', '/notes?offset=490'),
  ]);
}

async function assertOthersServed(service: Service): Promise<void> {
  assert.ok(await isHealthy(service));
  for (const id of [1, 400, 600, TOTAL])
    assert.equal((await service.request('GET', `/notes/${id}`)).json.id, id);
  assert.equal((await service.request('GET', '/notes?limit=100')).json.items.length, 100);
  assert.equal((await service.request('PUT', '/notes/600', { json: NOTE })).status, 200);
  const { json } = await service.request('POST', '/notes', { json: NOTE });
  assert.equal((await service.request('DELETE', `/notes/${json.id}`)).status, 204);
}

for (const byte of [0xff, 0x00]) {
  const name = `damage: a page overwritten with 0x${byte.toString(16)}`;

  test(`${name} costs only its records, until it is restored`, async (t) => {
    const path = copyNotes(t);
    const service = await startService(t, { db: path });
    await assertOthersServed(service);
    const restore = damagePage(path, byte);
    for (const answer of await faulty(service)) assertUnavailable(answer);
    await assertOthersServed(service);
    await service.close();
    assert.notDeepEqual(await checkFile(path), []);

    const next = await startService(t, { db: path });
    for (const answer of await faulty(next)) assertUnavailable(answer);
    await assertOthersServed(next);
    restore();
    const { items } = (await next.request('GET', '/notes?offset=490')).json;
    const { title } = (await next.request('GET', '/notes/500')).json;
    assert.deepEqual([items[9].title, title], ['note 500!', 'note 500!']);
    assert.equal((await next.request('PUT', '/notes/500', { json: NOTE })).status, 200);
    assert.equal((await next.request('DELETE', '/notes/500')).status, 204);
    await assertSound(path);
  });
}

test('damage: nothing is served from a truncated file', async (t) => {
  const path = copyNotes(t);
  const service = await startService(t, { db: path });
  const file = readFileSync(path);
  const page = Math.floor(file.indexOf('note 500!') / PAGE_BYTES);
  assert.equal(spawnSync('truncate', ['--size', String(page * PAGE_BYTES), path]).status, 0);
  for (const answer of await faulty(service)) assertUnavailable(answer);
  for (const id of [1, 600, TOTAL]) assertUnavailable(await service.request('GET', `/notes/${id}`));
  assertUnavailable(await service.request('POST', '/notes', { json: NOTE }));
  assert.equal(await isHealthy(service), false);
  await assert.rejects(checkFile(path), /it is damaged$/);

  overwrite(path, page, file.subarray(page * PAGE_BYTES));
  for (const id of [400, 500, 600, TOTAL]) {
    assert.equal((await service.request('GET', `/notes/${id}`)).json.title, `note ${id}!`);
    assert.equal((await service.request('PUT', `/notes/${id}`, { json: NOTE })).status, 200);
  }
  await assertSound(path);
});

test('damage: other requests of the same batch are served', async (t) => {
  const path = copyNotes(t);
  damagePage(path, 0xff);
  const service = await startService(t, { db: path });
  for (let round = 0; round < 3; round += 1) {
    const paths = Array.from({ length: 60 }, (_, index) =>
      index % 5 === 0 ? '/notes/500' : `/notes/${100 + index}`,
    );
    const json = { title: `round ${round}`, body: 'b' };
    const answers = paths.map((path, index) =>
      index % 2 === 0 ? service.request('GET', path) : service.request('PUT', path, { json }),
    );
    for (const [index, answer] of (await Promise.all(answers)).entries()) {
      if (paths[index] === '/notes/500') assertUnavailable(answer);
      else assert.equal(answer.status, 200, paths[index]);
    }
  }
});
