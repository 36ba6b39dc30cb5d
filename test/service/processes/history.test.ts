// The trash and the versions with several processes, of which each keeps records in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { needsFile } from '../../support/engine.ts';
import { send } from '../../support/http.ts';
import { startProcesses } from '../../support/processes.ts';

test('processes: each sees a deletion and a restoration', { skip: needsFile }, async (t) => {
  const { url } = await startProcesses(t, 2);
  const status = async (method: string, path: string, json?: object) =>
    (await send(url, method, path, json && { json })).status;
  // Each request has a connection of its own, and so another process.
  const statuses = async (path: string) =>
    new Set(await Promise.all(Array.from({ length: 6 }, () => status('GET', path))));
  await status('PUT', '/named/diary', { title: 'a', body: 'b' });
  for (let round = 0; round < 5; round += 1) {
    for (const path of ['/notes/1', '/named/diary'])
      assert.deepEqual(await statuses(path), new Set([200]), path);
    assert.equal(await status('DELETE', '/notes/1'), 204);
    for (const path of ['/notes/1', '/named/diary', '/notes/1/versions'])
      assert.deepEqual(await statuses(path), new Set([404]), path);
    assert.equal(await status('POST', '/trash/1/restore'), 200);
    assert.equal(await status('POST', '/trash/1/restore'), 404);
  }
});
