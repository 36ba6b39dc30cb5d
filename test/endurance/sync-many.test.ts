// The command `sync` with many notes: it neither holds all texts nor asks for each note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFlakyProxy } from '../support/flaky-proxy.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { folderOf, startSynced } from '../support/synced-folder.ts';

test('sync: the texts of many notes come from a list', async (t) => {
  const synced = await startSynced(t);
  const other = folderOf(t, synced.service);
  const paths = Array.from({ length: 600 }, (_, n) => `${n}.md`);
  for (const path of paths) synced.write(path, `${path}, at first`);
  await synced.sync();
  await other.sync();
  for (const path of paths) synced.write(path, `${path}, later`);
  await synced.sync();
  let requests = 0;
  const url = await startFlakyProxy(
    t,
    () => synced.service.url,
    (forward) => {
      requests += 1;
      return forward();
    },
  );
  await runInProcess(['sync', other.folder, url]);
  assert.ok(requests < 20, `${requests} requests`);
  assert.deepEqual(other.files(), synced.files());
});
