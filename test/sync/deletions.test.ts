// What deletes nothing, and what is too much to delete.
import assert from 'node:assert/strict';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { after, test } from 'node:test';
import { startService } from '../support/service.ts';
import { assertInStep, folderOf, shareService } from '../support/synced-folder.ts';

const start = await shareService({ after });

test('sync: many deletions are refused, unless they wait or are meant', async (t) => {
  const synced = start(t);
  const paths = Array.from({ length: 12 }, (_, n) => `${n}.md`);
  for (const path of paths) synced.write(path, path);
  await synced.sync();
  for (const path of paths) await synced.erase(path);
  const { status, lines } = await synced.sync('--push');
  assert.deepEqual([status, lines.length, lines[0]?.slice(0, 18)], [0, 12, 'waits: delete here']);
  const refused = await synced.sync();
  assert.deepEqual([refused.status, refused.lines], [2, []], 'what waits is not forgotten');
  const reason = /nothing was done: 12 of 12 files would be deleted .*--max-delete 12/;
  assert.match(refused.warnings, reason);
  assert.equal((await synced.sync('--max-delete', '11')).status, 2);
  assert.equal(Object.keys(synced.files()).length, 12);
  assert.equal((await synced.sync('--max-delete', '12')).status, 0);
  await assertInStep(synced, {});
});

test('sync: few deletions, and moves of all files, are no reason to refuse', async (t) => {
  const synced = start(t);
  for (let n = 0; n < 12; n += 1) synced.write(`a/${n}.md`, `${n}`);
  await synced.sync();
  renameSync(synced.at('a'), synced.at('b'));
  assert.equal((await synced.sync()).status, 0);
  for (let n = 0; n < 6; n += 1) synced.remove(`b/${n}.md`);
  assert.equal((await synced.sync()).status, 0);
  for (let n = 6; n < 12; n += 1) synced.remove(`b/${n}.md`);
  assert.equal((await synced.sync()).status, 0);
  await assertInStep(synced, {});
});

test('sync: a folder without its state is filled again, and deletes nothing', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b/c.md']) synced.write(path, path);
  await synced.sync();
  rmSync(synced.folder, { recursive: true });
  synced.write('new.md', 'new');
  assert.equal((await synced.sync()).status, 0);
  await assertInStep(synced, { 'a.md': 'a.md', 'b/c.md': 'b/c.md', 'new.md': 'new' });
});

test('sync: the state of another folder is forgotten, which is said once', async (t) => {
  const synced = start(t);
  const copied = folderOf(t, synced.service, synced.prefix);
  for (const path of ['a.md', 'b.md']) synced.write(path, path);
  await synced.sync();
  cpSync(synced.folder, copied.folder, { recursive: true });
  copied.remove('a.md');
  copied.write('b.md', 'b2');
  assert.match((await copied.sync()).warnings, /is of another folder, or damaged: nothing is del/);
  assert.deepEqual(Object.values(copied.files()).sort(), ['a.md', 'b.md', 'b2']);
  await assertInStep(copied, await synced.notes());
});

test('sync: a machine that has another name by now has the same folder', async (t) => {
  const { hostname } = os;
  t.after(() => {
    Object.assign(os, { hostname });
    syncBuiltinESMExports();
  });
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  Object.assign(os, { hostname: () => 'renamed' });
  syncBuiltinESMExports();
  synced.remove('a.md');
  assert.equal((await synced.sync()).lines[0], 'delete there a.md');
});

test('sync: another service deletes nothing, and both texts stay', async (t) => {
  const synced = start(t);
  for (const path of ['a.md', 'b.md', 'c.md']) synced.write(path, path);
  await synced.sync();
  const other = synced.with(await startService(t));
  await other.put('a.md', 'a.md');
  await other.put('b.md', 'other');
  const { warnings } = await other.sync();
  assert.match(warnings, /^The service was restored, or is another one: nothing is deleted/);
  const files = synced.files();
  assert.deepEqual(files, await other.notes());
  assert.deepEqual(Object.values(files).sort(), ['a.md', 'b.md', 'c.md', 'other']);
});

test('sync: a text is never replaced by a blank one', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  synced.write('a.md', '');
  assert.match((await synced.sync()).warnings, /^left a\.md: it is blank/);
  assert.deepEqual(await synced.notes(), { 'a.md': 'a' });
  await synced.put('a.md', 'a2');
  await synced.sync();
  await assertInStep(synced, { 'a.md': 'a2' });
});
