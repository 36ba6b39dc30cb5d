// The command `sync --follow`, within the process of the test.
import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { after, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { setLimits } from '../support/overload.ts';
import { folderOf, type SyncedFolder, shareService } from '../support/synced-folder.ts';
import { until } from '../support/until.ts';

const start = await shareService({ after });

/** Follows a folder until the result is called, which resolves with what the command wrote. */
function follow(
  t: TestContext,
  { folder, service, prefix }: SyncedFolder,
  onWarning = (_line: string) => {},
  options: readonly string[] = [],
) {
  const stopping = new AbortController();
  const args = ['sync', folder, service.url, '--folder', prefix, '--follow', ...options];
  const ended = runInProcess(args, { stop: stopping.signal, onWarning });
  const end = () => {
    stopping.abort();
    return ended;
  };
  t.after(end);
  return end;
}

test('sync: --follow makes no folder anew that is away, and goes on later', async (t) => {
  setLimits(t, SYNC_TIMES, { lookUnwatched: 5 });
  const synced = start(t);
  synced.write('a.md', 'a');
  let warned = '';
  const end = follow(t, synced, (line) => {
    warned += line;
  });
  await until(async () => 'a.md' in (await synced.notes()));
  renameSync(synced.folder, `${synced.folder}-away`);
  await until(() => /no such file or directory/.test(warned));
  renameSync(`${synced.folder}-away`, synced.folder);
  synced.write('b.md', 'b');
  await until(async () => 'b.md' in (await synced.notes()));
  assert.equal((await end()).status, 0);
});

test('sync: --follow notices what changes in folders that are new, or moved', async (t) => {
  const synced = start(t);
  const end = follow(t, synced, undefined, ['--max-delete', '99']);
  const arrive = () => until(async () => isDeepStrictEqual(await synced.notes(), synced.files()));
  for (const folder of ['a', 'b']) synced.write(`${folder}/in/x.md`, folder);
  await arrive();
  // Nothing but its name tells that a/in is another folder now.
  renameSync(synced.at('a'), synced.at('c'));
  renameSync(synced.at('b'), synced.at('a'));
  await arrive();
  for (const folder of ['a', 'c']) synced.write(`${folder}/in/x.md`, `${folder} later`);
  await arrive();
  rmSync(synced.at('a'), { recursive: true });
  synced.write('a/in/y.md', 'new');
  await arrive();
  synced.write('a/in/y.md', 'new, later');
  await arrive();
  assert.equal((await end()).status, 0);
});

test('sync: --follow takes no other folder for its own, and locks again', async (t) => {
  setLimits(t, SYNC_TIMES, { look: 5 });
  const synced = start(t);
  const other = start(t);
  other.write('private.md', 'private');
  let warned = '';
  follow(t, synced, (line) => {
    warned += line;
  });
  const lock = synced.at('.notes-sync/lock');
  await until(() => existsSync(lock));
  renameSync(synced.folder, `${synced.folder}-away`);
  symlinkSync(other.folder, synced.folder);
  await until(() => /is another folder by now/.test(warned));
  rmSync(synced.folder);
  renameSync(`${synced.folder}-away`, synced.folder);
  rmSync(synced.at('.notes-sync'), { recursive: true });
  synced.write('a.md', 'a');
  await until(async () => 'a.md' in (await synced.notes()));
  assert.ok(existsSync(lock));
  assert.deepEqual(await synced.notes(), { 'a.md': 'a' });
});

test('sync: --follow hears what comes after a refused run, and tells each refusal', async (t) => {
  setLimits(t, SYNC_TIMES, { lookUnwatched: 2 ** 30 });
  const synced = start(t);
  for (let each = 0; each < 12; each += 1) synced.write(`deep/${each}.md`, `${each}`);
  const warnings: string[] = [];
  const end = follow(t, synced, (line) => warnings.push(line));
  synced.write('a.md', '0');
  await until(async () => Object.keys(await synced.notes()).length === 13);
  for (const count of [1, 2]) {
    renameSync(synced.at('deep'), `${synced.folder}-away`);
    await until(() => warnings.length === count);
    renameSync(`${synced.folder}-away`, synced.at('deep'));
    synced.write('a.md', `${count}`);
    await until(async () => (await synced.notes())['a.md'] === `${count}`);
  }
  for (const line of warnings) assert.match(line, /12 of 13 files would be deleted/);
  assert.equal((await end()).status, 0);
});

test('sync: --follow tells once what waits', async (t) => {
  const synced = start(t);
  await synced.put('theirs.md', 'theirs');
  const end = follow(t, synced, undefined, ['--push']);
  for (const path of ['a.md', 'b.md']) {
    synced.write(path, path);
    await until(async () => path in (await synced.notes()));
  }
  assert.equal((await end()).output.match(/waits:/g)?.length, 1);
});

test('sync: --follow keeps both sides in step', async (t) => {
  const synced = start(t);
  const other = folderOf(t, synced.service, synced.prefix);
  const ends = [synced, other].map((each) => follow(t, each));
  synced.write('deep/a.md', 'a');
  await until(() => other.files()['deep/a.md'] === 'a');
  other.write('deep/a.md', 'a2');
  await until(() => synced.files()['deep/a.md'] === 'a2');
  await synced.put('b.md', 'b');
  await until(() => [synced, other].every((each) => each.files()['b.md'] === 'b'));
  other.remove('b.md');
  await until(() => !('b.md' in synced.files()));
  for (const end of ends) {
    const { status, warnings } = await end();
    assert.deepEqual({ status, warnings }, { status: 0, warnings: '' });
  }
});
