// The command `sync` as a process: its key, its statuses, its lock, its signals, what it loads.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { assertRefused, preload, runCommand, startCommand, stop } from '../support/command.ts';
import { closureOf, sourceAt } from '../support/sources.ts';
import { folderOf, startSynced } from '../support/synced-folder.ts';
import { unprivileged } from '../support/unprivileged.ts';
import { until } from '../support/until.ts';

/** The status if nothing was done. */
const NOTHING = 2;

test('sync: the command loads neither the server nor SQLite', () => {
  const modules = [...closureOf('sync/feature.ts')];
  assert.deepEqual(
    modules.flatMap((path) => sourceAt(path).packages.filter((name) => !/^node:/.test(name))),
    ['yaml'],
  );
  const rooms = new Set(modules.map((path) => sourceAt(path).room));
  assert.deepEqual([...rooms].sort(), ['characters', 'contract', 'http', 'name', 'sync']);
  assert.ok(!modules.includes('http/server.ts'));
});

test('sync: without what it needs, nothing is done, with status 2', async (t) => {
  const { folder, service } = await startSynced(t);
  const refused: readonly [args: readonly string[], reason: RegExp][] = [
    [[], /sync takes DIR and URL/],
    [[folder], /sync takes DIR and URL/],
    [[folder, service.url, 'more'], /sync takes DIR and URL/],
    [[folder, 'ftp://127.0.0.1'], /URL must be that of a service/],
    [[folder, service.url, '--push', '--pull'], /--push and --pull exclude each other/],
    [[folder, service.url, '--max-delete', 'all'], /--max-delete takes a whole number/],
    [[`${folder}/missing`, service.url], /no such file or directory/],
    [[folder, service.url, '--key-file', `${folder}/missing`], /no such file or directory/],
    [[folder, service.url, '--exts', 'md'], /unknown option '--exts'/],
  ];
  for (const [args, reason] of refused)
    assertRefused(await runCommand(t, ['sync', ...args]), NOTHING, reason);
});

test('sync: sends the key of the environment or of a file', async (t) => {
  const synced = await startSynced(t, { apiKeys: ['secret', 'other'] });
  const args = ['sync', synced.folder, synced.service.url];
  assertRefused(await runCommand(t, args), NOTHING, /key/);
  const env = { NOTES_KEY: 'secret' };
  const silent = { status: 0, signal: null, stdout: '', stderr: '' };
  assert.deepEqual(await runCommand(t, args, { env }), silent);
  writeFileSync(synced.at('key'), 'other\n');
  assert.deepEqual(await runCommand(t, [...args, '--key-file', synced.at('key')]), silent);
});

test('sync: a file that cannot be a note is status 1', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', '');
  synced.write('b\u001b[2J.md', 'b');
  const { status, stdout, stderr } = await runCommand(t, [
    'sync',
    synced.folder,
    synced.service.url,
  ]);
  assert.deepEqual({ status, stdout }, { status: 1, stdout: '' });
  assert.match(stderr, /^left a\.md: it is blank$/m);
  assert.match(stderr, /^left b\\x1b\[2J\.md: its name must not have control characters/m);
});

test('sync: a file that cannot be read is left, a folder that cannot ends the run', async (t) => {
  const parts = unprivileged(t);
  if (!parts) return t.skip('no user is without privileges');
  const { service, notes } = await startSynced(t);
  const folder = join(parts.folder, 'notes');
  mkdirSync(join(folder, 'deep'), { recursive: true });
  chmodSync(folder, 0o777);
  for (const path of ['a.md', 'b.md', 'deep/c.md']) writeFileSync(join(folder, path), path);
  chmodSync(join(folder, 'a.md'), 0);
  const run = () => runCommand(t, ['sync', folder, service.url], parts);
  const { status, stderr } = await run();
  assert.equal(status, 1);
  assert.match(stderr, /^left a\.md: EACCES/);
  chmodSync(join(folder, 'deep'), 0);
  assertRefused(await run(), NOTHING, /EACCES/);
  chmodSync(join(folder, 'deep'), 0o777);
  assert.deepEqual(Object.keys(await notes()), ['b.md', 'deep/c.md']);
});

test('sync: what is no notes-server is not believed that notes are gone', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const { createServer } = await import('node:http');
  const server = createServer((_, answer) => answer.writeHead(404).end('Not here'));
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const ending = await runCommand(t, ['sync', synced.folder, `http://127.0.0.1:${port}`]);
  assertRefused(ending, NOTHING, /status 404, and is no notes-server/);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
});

test('sync: a second run in the same folder does nothing, with status 2', async (t) => {
  const synced = await startSynced(t);
  const args = ['sync', synced.folder, synced.service.url];
  const first = startCommand(t, [...args, '--follow']);
  synced.write('a.md', 'a');
  await until(async () => 'a.md' in (await synced.notes()));
  const second = await runCommand(t, args);
  assertRefused(second, NOTHING, new RegExp(`process ${first.process.pid} on .* is at work here`));
  assert.equal((await stop(first)).status, 0);
  assert.equal((await runCommand(t, args)).status, 0);
});

test('sync: the lock of a process that has ended is taken over', async (t) => {
  const synced = await startSynced(t);
  const { pid } = (await runCommand(t, ['--version'])) && process;
  mkdirSync(synced.at('.notes-sync'));
  synced.write('a.md', 'a');
  // This process has the number, but another start.
  writeFileSync(synced.at('.notes-sync/lock'), `${pid} 1 ${hostname()}`);
  assert.equal((await synced.sync()).status, 0);
  writeFileSync(synced.at('.notes-sync/lock'), `${pid} 1 elsewhere`);
  assert.match((await synced.sync()).warnings, /process \d+ on elsewhere is at work here/);
});

test('sync: --follow makes no folder anew that is away, and goes on later', async (t) => {
  const synced = await startSynced(t);
  synced.write('a.md', 'a');
  const times = new URL('../../src/sync/effects.js', import.meta.url);
  const node = preload(
    `const { SYNC_TIMES } = await import('${times}');
     Object.assign(SYNC_TIMES, { collect: 1, look: 50, relisten: 1 });`,
  );
  const args = ['sync', synced.folder, synced.service.url, '--follow'];
  const command = startCommand(t, args, { node });
  await until(async () => 'a.md' in (await synced.notes()));
  renameSync(synced.folder, `${synced.folder}-away`);
  await command.says('no such file or directory');
  renameSync(`${synced.folder}-away`, synced.folder);
  synced.write('b.md', 'b');
  await until(async () => 'b.md' in (await synced.notes()));
  assert.equal((await stop(command)).status, 0);
});

test('sync: --follow notices what changes in folders that are new, or moved', async (t) => {
  const synced = await startSynced(t);
  const times = new URL('../../src/sync/effects.js', import.meta.url);
  const node = preload(
    `const { SYNC_TIMES } = await import('${times}');
     Object.assign(SYNC_TIMES, { collect: 1, missing: 1 });`,
  );
  const args = ['sync', synced.folder, synced.service.url, '--follow', '--max-delete', '99'];
  const command = startCommand(t, args, { node });
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
  assert.equal((await stop(command)).status, 0);
});

test('sync: --follow keeps both sides in step until a signal', async (t) => {
  const synced = await startSynced(t);
  const other = folderOf(t, synced.service);
  // Tests do not wait for editors, nor for several events.
  const times = new URL('../../src/sync/effects.js', import.meta.url);
  const node = preload(
    `const { SYNC_TIMES } = await import('${times}');
     Object.assign(SYNC_TIMES, { collect: 1, missing: 1, relisten: 1 });`,
  );
  const commands = [synced, other].map(({ folder }) =>
    startCommand(t, ['sync', folder, synced.service.url, '--follow'], { node }),
  );
  synced.write('deep/a.md', 'a');
  await until(() => other.files()['deep/a.md'] === 'a');
  other.write('deep/a.md', 'a2');
  await until(() => synced.files()['deep/a.md'] === 'a2');
  await synced.put('b.md', 'b');
  await until(() => [synced, other].every((each) => each.files()['b.md'] === 'b'));
  other.remove('b.md');
  await until(() => !('b.md' in synced.files()));
  for (const [index, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    const command = commands[index];
    assert.ok(command);
    const { status, stderr } = await stop(command, signal);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  }
});
