// The command `sync` while its service is restored from a backup or exchanged for an empty one,
// before each of its requests: no text of the folder is lost.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { newFile } from '../support/databases.ts';
import { startFlakyProxy } from '../support/flaky-proxy.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { type Service, startService } from '../support/service.ts';
import { folderOf, namedNotes, type SyncedFolder, syncUntil } from '../support/synced-folder.ts';

const QUIET_RUNS = 3;

type Prepare = (synced: SyncedFolder, service: Service) => unknown;

const put = (service: Service, name: string, body: string) =>
  service.request('PUT', `/named/${name}`, { json: { title: 'other', body } });

/** What a run has to do when the exchange comes; `new.md` has a text that no backup has. */
const SCENARIOS: Readonly<Record<string, Prepare>> = {
  nothing() {},
  send: (synced) => synced.write('b.md', 'b2'),
  get: (_, service) => put(service, 'b.md', 'there'),
  'delete here': (_, service) => service.request('DELETE', '/named/b.md'),
  'delete there': (synced) => synced.remove('b.md'),
  'move here': (_, service) => service.request('PATCH', '/named/b.md', { json: { name: 'c.md' } }),
  'move there': (synced) => renameSync(synced.at('b.md'), synced.at('c.md')),
  'another title': (_, service) =>
    service.request('PATCH', '/named/a.md', { json: { title: 'another' } }),
  // Its id is read, as the run before has left it.
  async 'looks again'(synced, service) {
    synced.write('b.md', 'b2');
    await runInProcess(['sync', synced.folder, service.url, '--pull']);
    synced.write('b.md', 'b');
  },
};

for (const exchange of ['restore', 'empty'] as const)
  for (const [name, prepare] of Object.entries(SCENARIOS))
    test(`sync: ${name}, and the service is exchanged (${exchange})`, async (t) => {
      for (let at = 1, isThere = true; isThere; at += 1)
        isThere = await play(t, exchange, name, prepare, at);
    });

async function play(
  t: TestContext,
  exchange: 'restore' | 'empty',
  name: string,
  prepare: Prepare,
  at: number,
): Promise<boolean> {
  let db = newFile(t);
  let service = await startService(t, { db });
  const synced = folderOf(t, service);
  let left = Number.POSITIVE_INFINITY;
  let owed: readonly string[] = [];
  const url = await startFlakyProxy(
    t,
    () => service.url,
    async (forward) => {
      left -= 1;
      if (left === 0) {
        // Its owner has deleted it there.
        const released = name === 'delete here' ? 'b' : '';
        owed = Object.values(synced.files()).filter(
          (text) => /^\w/.test(text) && text !== released,
        );
        await service.close();
        if (exchange === 'restore') await runInProcess(['restore', backup, '--db', db, '--force']);
        else db = newFile(t);
        service = await startService(t, { db });
      }
      return forward();
    },
  );
  const run = () => runInProcess(['sync', synced.folder, url]);
  for (const each of ['a', 'b']) synced.write(`${each}.md`, each);
  await run();
  const backup = newFile(t);
  await runInProcess(['backup', backup, '--db', db]);
  for (const each of ['a', 'new']) synced.write(`${each}.md`, `${each} after the backup`);
  await run();
  await prepare(synced, service);
  left = at;
  await run();
  const isThere = left <= 0;
  left = Number.POSITIVE_INFINITY;
  for (const [path, text] of Object.entries(synced.files())) if (text === '') synced.remove(path);
  for (let count = 0; count < QUIET_RUNS; count += 1) await run();
  const texts = (await namedNotes(service)).map(({ body }) => body);
  const lost = isThere ? owed.filter((text) => !texts.includes(text)) : [];
  assert.deepEqual(lost, [], `before request ${at}`);
  await service.close();
  return isThere;
}

test('sync: a first run breaks off, then the service is another: nothing is deleted', async (t) => {
  const [service, exchanged] = [await startService(t), await startService(t)];
  for (let states = 1, isThere = true; isThere; states += 1) {
    const synced = folderOf(t, service, `${states}/`);
    for (const path of ['a.md', 'b.md']) await synced.put(path, path);
    synced.write('c.md', 'c');
    let count = 0;
    isThere = await syncUntil(synced, (effect) => {
      if (effect === 'state') count += 1;
      return count === states;
    });
    const files = synced.files();
    const other = synced.with(exchanged);
    await other.sync();
    assert.deepEqual(synced.files(), files, `state ${states}`);
    assert.deepEqual(await other.notes(), files);
  }
});
