// The command `sync`: its key, its statuses, its lock, its signals, and what it loads.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { after, type TestContext, test } from 'node:test';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { startCommand, stop } from '../support/command.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { closureOf, sourceAt } from '../support/sources.ts';
import {
  folderOf,
  type SyncedFolder,
  shareService,
  startSynced,
} from '../support/synced-folder.ts';
import { until } from '../support/until.ts';

/** The status if nothing was done. */
const NOTHING = 2;

const start = await shareService({ after });

/** Asserts that a command says why it did nothing. */
async function assertDoesNothing(args: readonly string[], reason: RegExp, env = {}) {
  const { status, output, warnings } = await runInProcess(['sync', ...args], { env });
  assert.match(warnings, /^notes-server: [^\n]+\n$/);
  assert.match(warnings, reason);
  assert.deepEqual({ status, output }, { status: NOTHING, output: '' });
}

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

test('sync: without what it needs, nothing is done', async (t) => {
  const { folder, service } = start(t);
  const refused: readonly [args: readonly string[], reason: RegExp][] = [
    [[folder, 'ftp://127.0.0.1'], /URL must be that of a service/],
    [[folder, service.url, '--push', '--pull'], /--push and --pull exclude each other/],
    [[folder, service.url, '--max-delete', 'all'], /--max-delete takes a whole number/],
    [[`${folder}/missing`, service.url], /no such file or directory/],
    [[folder, service.url, '--key-file', `${folder}/missing`], /no such file or directory/],
  ];
  for (const [args, reason] of refused) await assertDoesNothing(args, reason);
  for (const args of [[], [folder], [folder, service.url, 'more']])
    await assert.rejects(runInProcess(['sync', ...args]), /sync takes DIR and URL/);
});

test('sync: sends the key of the environment or of a file', async (t) => {
  const { folder, service, at, write } = await startSynced(t, { apiKeys: ['secret', 'other'] });
  await assertDoesNothing([folder, service.url], /key/);
  const args = ['sync', folder, service.url];
  const env = { NOTES_KEY: 'secret' };
  assert.equal((await runInProcess(args, { env })).status, 0);
  write('key', 'other\n');
  assert.equal((await runInProcess([...args, '--key-file', at('key')])).status, 0);
});

test('sync: what cannot be a key is refused, and not printed', async (t) => {
  const { folder, service, at, write } = start(t);
  const reason = /^notes-server: the key must be one word of visible ASCII characters/;
  for (const key of ['secret-1\nsecret-2\n', 'secret-1 name=a', 'secret-\u00e9', '\n']) {
    write('key', key);
    await assertDoesNothing([folder, service.url, '--key-file', at('key')], reason);
  }
  await assertDoesNothing([folder, service.url, '--follow'], reason, { NOTES_KEY: 'a\nb' });
});

test('sync: what is no notes-server is not believed that notes are gone', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  await synced.sync();
  const location = 'https://notes.example.com/';
  const server = createServer((_, answer) => answer.writeHead(301, { location }).end('There'));
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const args = [synced.folder, `HTTP://127.0.0.1:${Object(server.address()).port}`];
  const reason = /status 301 \(to https:\/\/notes.example.com\/\), and is no notes-server/;
  await assertDoesNothing([...args, '--folder', synced.prefix], reason);
  assert.deepEqual(synced.files(), { 'a.md': 'a' });
});

test('sync: a second run in a folder does nothing, and a signal ends the first', async (t) => {
  const synced = start(t);
  const args = ['sync', synced.folder, synced.service.url, '--folder', synced.prefix];
  const left = /^left \\x1b\[2J\.md: its name must not have control characters[^\n]*\n$/;
  synced.write('\u001b[2J.md', 'a');
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    synced.write(`${signal}.md`, 'a');
    const first = startCommand(t, [...args, '--follow']);
    await until(async () => `${signal}.md` in (await synced.notes()));
    const { status, warnings } = await synced.sync();
    assert.equal(status, NOTHING);
    assert.match(warnings, new RegExp(`process ${first.process.pid} on .* is at work here`));
    const ending = await stop(first, signal);
    assert.equal(ending.status, 0);
    assert.match(ending.stderr, left);
  }
  assert.equal((await synced.sync()).status, 1);
});

test('sync: the lock of a process that has ended is taken over', async (t) => {
  const synced = start(t);
  synced.write('a.md', 'a');
  // This process has the number, but another start.
  synced.write('.notes-sync/lock', `${process.pid} 1 ${hostname()}`);
  assert.equal((await synced.sync()).status, 0);
  synced.write('.notes-sync/lock', `${process.pid} 1 elsewhere`);
  assert.match((await synced.sync()).warnings, /process \d+ on elsewhere is at work here/);
});

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

/** Changes times of runs until the end of the test. */
function setTimes(t: TestContext, times: Partial<typeof SYNC_TIMES>): void {
  const before = { ...SYNC_TIMES };
  t.after(() => Object.assign(SYNC_TIMES, before));
  Object.assign(SYNC_TIMES, times);
}

test('sync: --follow makes no folder anew that is away, and goes on later', async (t) => {
  setTimes(t, { lookUnwatched: 5 });
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

test('sync: --follow hears what comes after a refused run, and tells each refusal', async (t) => {
  setTimes(t, { lookUnwatched: 2 ** 30 });
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
