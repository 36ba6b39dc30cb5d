// A backup is put in the place of a live database. The service writes nothing into it, and its log,
// which belongs to the old file, is kept under another name instead of being applied to the backup.
import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { assertRefused, runCommand, startCommand, stop } from '../../support/command.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { exported, runInProcess } from '../../support/in-process-command.ts';
import { type Service, startService } from '../../support/service.ts';
import { assertUnavailable, NOTE } from '../../support/storage-faults.ts';
import { assertSound, beside } from '../../support/stored-data.ts';

/** The ways to make a backup: one has a header that says that it uses no log, the other has not. */
const BACKUPS: Record<string, (file: string, target: string) => Promise<unknown>> = {
  'the command backup': (file, target) => runInProcess(['backup', target, '--db', file]),
  'a copy': (file, target) =>
    beside(file, (connection) => {
      copyFileSync(file, target);
      return connection.execute('SELECT 1');
    }),
};

const REPLACEMENTS: Record<string, (from: string, to: string) => void> = {
  replaced: renameSync,
  overwritten: copyFileSync,
};

const create = (url: string) => request(url, 'POST', '/notes', { json: NOTE });

const checkpoint = (db: string) => beside(db, (other) => other.execute('PRAGMA wal_checkpoint'));

async function totalIn(t: TestContext, db: string): Promise<number> {
  const service = await startService(t, { db });
  const { total } = (await service.request('GET', '/notes')).json;
  await service.close();
  return total;
}

async function backUpInUse(db: string, url: string, makeBackup: string): Promise<string> {
  for (let count = 0; count < 2; count += 1) await create(url);
  await checkpoint(db);
  await BACKUPS[makeBackup]?.(db, `${db}.backup`);
  await create(url);
  await checkpoint(db);
  await create(url);
  return `${db}.backup`;
}

/** Starts the command on `notes.db`. */
async function startOnFile(t: TestContext, ...args: string[]) {
  const command = startCommand(t, ['--port', '0', '--db', 'notes.db', ...args]);
  return { command, url: await command.ready(), db: join(command.folder, 'notes.db') };
}

/** Starts a service in this process, with a backup as {@link backUpInUse} makes it. */
async function startWithBackup(t: TestContext, makeBackup: string) {
  const db = join(temporaryFolder(t), 'notes.db');
  const service = await startService(t, { db });
  return { db, service, saved: await backUpInUse(db, service.url, makeBackup) };
}

/** Copies the files of a running service to another folder, with the log as after a crash. */
function copyAsCrashed({ file }: Service, folder: string): string {
  mkdirSync(folder);
  for (const end of ['', '-wal', '-origin'])
    copyFileSync(file + end, join(folder, `notes.db${end}`));
  return join(folder, 'notes.db');
}

for (const [happened, replace] of Object.entries(REPLACEMENTS)) {
  for (const makeBackup of Object.keys(BACKUPS)) {
    test(`replaced file: ${happened} by ${makeBackup}, it survives a stop`, async (t) => {
      const { command, url, db } = await startOnFile(t);
      const saved = await backUpInUse(db, url, makeBackup);
      replace(saved, db);
      const content = readFileSync(db);
      assertUnavailable(await create(url));
      assert.equal((await request(url, 'GET', '/health')).status, 503);
      const { status, stderr } = await stop(command);
      assert.equal(status, 1);
      const kept = `${db}.replaced-1-wal`;
      const line = `notes.db was ${happened} while it was in use; its log is kept as ${kept}`;
      assert.ok(stderr.includes(`\nnotes-server: ${line}\n`), stderr);
      assert.ok(stderr.includes(`"message":"the stop failed","error":{"message":"${line}"`));
      assert.ok(readFileSync(db).equals(content));
      assert.ok(existsSync(kept));
      assert.equal(await totalIn(t, db), 2);
      await assertSound(db);
    });
  }
}

test('replaced file: overwritten, it survives a crash, too', async (t) => {
  const { url, db } = await startOnFile(t);
  copyFileSync(await backUpInUse(db, url, 'a copy'), db);
  assertUnavailable(await create(url));
  // The crash: the files stay as they are, and the service loses sight of them.
  const path = join(temporaryFolder(t), 'notes.db');
  for (const end of ['', '-wal', '-origin']) renameSync(db + end, path + end);
  assert.equal(await totalIn(t, path), 2);
  assert.ok(existsSync(`${path}.replaced-1-wal`));
  await assertSound(path);
});

test('replaced file: its log goes on with the old one; processes stop with 1', async (t) => {
  const { command, url, db } = await startOnFile(t, '--processes=2');
  const saved = await backUpInUse(db, url, 'a copy');
  linkSync(db, `${db}.old`);
  renameSync(saved, db);
  const { status, stderr } = await stop(command);
  assert.equal(status, 1);
  assert.match(stderr, /^notes-server: notes\.db was replaced while it was in use; .*-1-wal$/m);
  assert.equal(await totalIn(t, db), 2);
  renameSync(`${db}.replaced-1-wal`, `${db}.old-wal`);
  assert.equal(await totalIn(t, `${db}.old`), 4);
});

test('replaced file: overwritten, no process writes, even its first time', async (t) => {
  const { command, url, db } = await startOnFile(t, '--processes=2');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const createInOne = () => request(url, 'POST', '/notes', { json: NOTE, agent });
  await createInOne();
  await runInProcess(['backup', `${db}.backup`, '--db', db]);
  await createInOne();
  copyFileSync(`${db}.backup`, db);
  for (let count = 0; count < 8; count += 1) assertUnavailable(await create(url));
  assert.equal((await stop(command)).status, 1);
  assert.equal(await totalIn(t, db), 1);
});

test('replaced file: overwritten right after a checkpoint of another program', async (t) => {
  const { db, service } = await startWithBackup(t, 'a copy');
  const longNote = { title: 'long', body: 'word '.repeat(10_000) };
  await service.request('POST', '/notes', { json: longNote });
  await checkpoint(db);
  copyFileSync(`${db}.backup`, db);
  assertUnavailable(await create(service.url));
  await assert.rejects(service.close(), /was overwritten while it was in use; its log is kept as/);
});

test('replaced file: without its log too, a stop says so', async (t) => {
  const { db, saved, service } = await startWithBackup(t, 'a copy');
  rmSync(`${db}-wal`);
  renameSync(saved, db);
  await assert.rejects(service.close(), /notes\.db was replaced while it was in use$/);
});

test('replaced file: a service that starts on it leaves the log to the other', async (t) => {
  const { db, saved, service } = await startWithBackup(t, 'the command backup');
  renameSync(saved, db);
  const next = await startService(t, { db });
  assert.equal((await next.request('POST', '/notes', { json: NOTE })).status, 201);
  assert.equal((await next.request('GET', '/notes')).json.total, 3);
  assert.equal((await service.request('GET', '/notes/4')).status, 200);
  assertUnavailable(await create(service.url));
  await assert.rejects(service.close(), /was replaced while it was in use$/);
  await next.close();
  await assertSound(db);
});

test('replaced file: overwritten again with what it was, it can be written', async (t) => {
  const { db, saved, service } = await startWithBackup(t, 'the command backup');
  const content = readFileSync(db);
  copyFileSync(saved, db);
  assertUnavailable(await create(service.url));
  writeFileSync(db, content);
  assert.equal((await create(service.url)).status, 201);
});

test('replaced file: what SQLite or a backup program does is no overwriting', async (t) => {
  const service = await startService(t, { db: join(temporaryFolder(t), 'notes.db') });
  const soon = new Date(Date.now() + 1_000);
  const truncate = 'PRAGMA wal_checkpoint(TRUNCATE)';
  for (const sql of ['', 'PRAGMA wal_checkpoint', truncate, 'VACUUM; PRAGMA wal_checkpoint']) {
    assert.equal((await create(service.url)).status, 201);
    if (sql === '') utimesSync(service.file, soon, soon);
    else await beside(service.file, (other) => other.execute(sql));
    assert.equal((await create(service.url)).status, 201);
  }
});

for (const makeBackup of Object.keys(BACKUPS)) {
  test(`foreign log: after a crash beside ${makeBackup}, it is set aside`, async (t) => {
    const { db, saved, service } = await startWithBackup(t, makeBackup);
    // The crash: the files stay as they are, and the service loses sight of them.
    const crashed = join(temporaryFolder(t), 'crashed');
    mkdirSync(crashed);
    for (const end of ['-wal', '-origin']) renameSync(db + end, join(crashed, `notes.db${end}`));
    const path = join(crashed, 'notes.db');
    renameSync(saved, path);
    const next = await startService(t, { db: path });
    const [line] = next.log.filter(({ level }) => level === 'warn');
    assert.deepEqual(line?.fields, { kept: `${path}.replaced-1-wal` });
    assert.equal((await next.request('GET', '/notes')).json.total, 2);
    assert.ok(existsSync(`${path}.replaced-1-wal`));
    await next.close();
    await assertSound(path);
    await service.close();
  });
}

test('foreign log: beside no file, it is set aside', async (t) => {
  const { db, service } = await startWithBackup(t, 'a copy');
  const path = copyAsCrashed(service, join(temporaryFolder(t), 'crashed'));
  rmSync(path);
  assert.equal(await totalIn(t, path), 0);
  assert.ok(existsSync(`${path}.replaced-1-wal`));
  assert.ok(existsSync(db));
});

test('foreign log: that of the file is applied after a crash, in any folder', async (t) => {
  const { service } = await startWithBackup(t, 'a copy');
  const folder = join(temporaryFolder(t), 'crashed');
  const path = copyAsCrashed(service, folder);
  cpSync(folder, `${folder}-too`, { recursive: true });
  assert.equal(await totalIn(t, path), 4);
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  renameSync(`${folder}-too`, `${folder}-moved`);
  assert.equal(await totalIn(t, join(`${folder}-moved`, 'notes.db')), 4);
});

test('foreign log: commands refuse it in one line and change nothing', async (t) => {
  const { saved, service } = await startWithBackup(t, 'the command backup');
  const path = copyAsCrashed(service, join(temporaryFolder(t), 'crashed'));
  copyFileSync(saved, path);
  const before = readFileSync(`${path}-wal`);
  const reason = /notes\.db-wal belongs to another file: move it away$/;
  const input = await exported(service.file);
  for (const command of [
    'check',
    `backup ${path}.copy`,
    `restore ${saved} --force`,
    'export',
    'import',
  ])
    await assert.rejects(runInProcess([...command.split(' '), '--db', path], { input }), reason);
  assertRefused(await runCommand(t, ['check', path]), 1, /belongs to another file/);
  assert.ok(readFileSync(`${path}-wal`).equals(before));
});
