// The command `sync`: its key, its statuses, its lock, its signals, and what it loads.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SYNC_TIMES } from '../../src/sync/effects.ts';
import { lock } from '../../src/sync/lock.ts';
import { startCommand, stop } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { setLimits } from '../support/overload.ts';
import { closureOf, sourceAt } from '../support/sources.ts';
import { shareService, startSynced, syncWith } from '../support/synced-folder.ts';
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

test('sync: a lock is taken over once its process has ended, or is silent', async (t) => {
  const synced = start(t);
  const locked = async (text: string, age = 0) => {
    const writtenAt = Date.now() / 1_000 - age;
    synced.write('.notes-sync/lock', text);
    utimesSync(synced.at('.notes-sync/lock'), writtenAt, writtenAt);
    const { status, warnings } = await synced.sync();
    assert.equal(status, warnings === '' ? 0 : NOTHING);
    return warnings;
  };
  let own = '';
  await syncWith(synced, () => {
    own ||= synced.read('.notes-sync/lock');
  });
  const [pid, started, origin, host] = own.split(' ');
  assert.match(await locked(own, 1_000), /process \d+ on \S+ is at work here \(if not, delete/);
  // This process has the number, but another start.
  assert.equal(await locked([pid, Number(started) - 1, origin, host].join(' ')), '');
  // Such as after a restart, in another container, or of a power cut.
  for (const text of [own.replace(`${origin}`, 'other'), '', '\0\0\0']) {
    assert.match(await locked(text, 100), /at work here, or was less than 2 minutes ago/);
    assert.equal(await locked(text, 130), '');
  }
});

test('sync: a lock is refreshed while a run is at work, and no other one', async (t) => {
  setLimits(t, SYNC_TIMES, { lock: 4 });
  const path = join(temporaryFolder(t), 'lock');
  const held = lock(path);
  const isRefreshed = () => statSync(path).mtimeMs > 1_000;
  utimesSync(path, 1, 1);
  await until(isRefreshed);
  // Somebody removes it, and another one is faster.
  rmSync(path);
  held.hold();
  assert.ok(isRefreshed());
  writeFileSync(path, `${readFileSync(path, 'utf8')} other`);
  assert.throws(() => held.hold(), /is at work here/);
  held[Symbol.dispose]();
  assert.match(readFileSync(path, 'utf8'), /other$/);
});
