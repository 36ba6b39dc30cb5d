// `notes-server backup`: beside a service that writes, and how it fails.
import assert from 'node:assert/strict';
import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { checkFile } from '../../../src/commands/check.ts';
import { writeWhole } from '../../../src/commands/whole-file.ts';
import { assertRefused, type CommandParts, runCommand } from '../../support/command.ts';
import {
  change,
  damagePageOf,
  newFile,
  openDatabase,
  writeForeignFile,
} from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import { breakAt, exported, runInProcess } from '../../support/in-process-command.ts';
import { bringUpToDate } from '../../support/search-index.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { beside } from '../../support/stored-data.ts';
import { unprivileged } from '../../support/unprivileged.ts';
import { until } from '../../support/until.ts';

const backup = (target: string, db: string, onProgress?: (line: string) => void) =>
  runInProcess(['backup', target, '--db', db], onProgress && { onProgress });

/** Leaves CPU time to the backup. */
const PAUSE_MS = 5;

test('backup: complete while four clients write', async (t) => {
  const service = await startService(t, { db: await filledFile(t, 300) });
  const sql = 'SELECT id, body FROM notes ORDER BY id';
  const notesOf = (file: string) => beside(file, (connection) => connection.run({ sql }));
  const { length } = await notesOf(service.file);
  let [sent, acknowledged, isWriting] = [0, 0, true];
  async function write(): Promise<void> {
    for (; isWriting; acknowledged += 1) {
      sent += 1;
      const json = { title: 'new', body: String(sent) };
      assert.equal((await service.request('POST', '/notes', { json })).status, 201);
      await delay(PAUSE_MS);
    }
  }

  const written = Promise.all([write(), write(), write(), write()]);
  await until(() => acknowledged > 8);
  const [target, least] = [newFile(t), acknowledged];
  const { status, stdout } = await runCommand(t, ['backup', target, '--db', service.file]);
  assert.deepEqual([status, stdout], [0, `backed up ${service.file} to ${target}\n`]);
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  // Every writer goes on.
  const most = sent;
  await until(() => acknowledged > most + 4);
  isWriting = false;
  await written;
  assert.deepEqual(await checkFile(target), []);
  const [copied, all] = [await notesOf(target), await notesOf(service.file)];
  assert.deepEqual(copied, all.slice(0, copied.length));
  assert.ok(copied.length >= length + least && copied.length <= length + most);
  const restored = await startService(t, { db: target });
  const json = { title: 'a', body: 'b' };
  assert.equal((await restored.request('POST', '/notes', { json })).status, 201);
});

test('backup: a single file with the mode of its database', async (t) => {
  const file = await filledFile(t, 1);
  for (const mode of [0o600, 0o640, 0o444]) {
    chmodSync(file, mode);
    const target = newFile(t);
    const { line, progress } = await backup(target, file);
    assert.equal(line, `backed up ${file} to ${target}`);
    assert.match(progress, /backed up 100 % of \d+ KiB\n$/);
    assert.equal(statSync(target).mode & 0o777, mode);
    assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  }
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
});

test('backup: has no byte of what was erased, not even a word in the index', async (t) => {
  const [file, target] = [await filledFile(t, 3), newFile(t)];
  const database = await openDatabase(t, file);
  const words = ['zebra', 'quagga', 'okapi', 'gnu'];
  for (const sql of [
    `UPDATE notes SET body = 'zebra ' || body WHERE id = 1`,
    `UPDATE notes SET body = 'quagga ' || body WHERE id IN (1, 3)`,
    `UPDATE comments SET body = 'okapi'`,
    `UPDATE notes SET title = 'gnu' WHERE id = 1`,
  ]) {
    await change(database, sql);
    await bringUpToDate(database);
  }
  await change(database, 'DELETE FROM notes WHERE id IN (1, 3)');
  await bringUpToDate(database);
  await backup(target, file);
  const holds = (path: string) => words.filter((word) => readFileSync(path).includes(word));
  assert.deepEqual(holds(target), words);
  await change(database, 'DELETE FROM deleted_notes');
  const after = newFile(t);
  await backup(after, file);
  await database.close();
  // Otherwise the copy would prove nothing.
  assert.notDeepEqual(holds(file), []);
  assert.deepEqual(holds(after), []);
  assert.deepEqual(await checkFile(after), []);
});

test('backup: an existing file, link or folder stays', async (t) => {
  const [file, folder] = [await filledFile(t, 1), temporaryFolder(t)];
  writeFileSync(join(folder, 'file'), 'mine');
  symlinkSync('nowhere', join(folder, 'link'));
  for (const target of [join(folder, 'file'), join(folder, 'link'), folder, file]) {
    await assert.rejects(backup(target, file), / already exists$/);
  }
  assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'mine');
  assert.deepEqual(readdirSync(folder), ['file', 'link']);
});

test('backup: the target appears only when it is complete', async (t) => {
  const [file, target] = [await filledFile(t, 300), newFile(t)];
  const broken = backup(target, file, breakAt('backed up 100 %'));
  await assert.rejects(broken, /cannot write \S+: broken off$/);
  assert.deepEqual(readdirSync(dirname(target)), []);
  let during: string[] = [];
  await backup(target, file, () => {
    during = readdirSync(dirname(target));
  });
  assert.match(during.join(), /^notes\.db\.unfinished-[0-9a-f]+$/);
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  assert.deepEqual(await checkFile(target), []);
});

test('backup: a file that appears meanwhile stays', async (t) => {
  const [file, target] = [await filledFile(t, 10), newFile(t)];
  const made = backup(target, file, () => writeFileSync(target, 'theirs'));
  await assert.rejects(made, / already exists$/);
  assert.equal(readFileSync(target, 'utf8'), 'theirs');
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
});

test('backup: a complete file is called so if its folder cannot be synced', async (t) => {
  const target = newFile(t);
  await using folder = await open(dirname(target));
  const { sync } = folder;
  t.mock.method(Object.getPrototypeOf(folder), 'sync', async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) throw new Error('EINVAL: invalid argument, fsync');
    return sync.call(this);
  });
  const writing = writeWhole(target, { write: (_path, file) => file.writeFile('x') });
  await assert.rejects(
    writing,
    /^DatabaseUnusable: cannot write \S+: it is complete, but .+ fsync$/,
  );
  assert.equal(readFileSync(target, 'utf8'), 'x');
});

test('backup: the names of the logs of the database are refused', async (t) => {
  const file = await filledFile(t, 1);
  // A WAL exists while the command reads.
  const exists = /-(?:wal|shm): it already exists$/;
  const reserved = /^cannot write \S+-journal: SQLite reserves this name for \S+notes\.db$/;
  for (const [end, message] of Object.entries({ wal: exists, shm: exists, journal: reserved }))
    for (const target of [`${file}-${end}`, relative('.', `${file}-${end}`)])
      for (const command of ['backup', 'export'])
        await assert.rejects(runInProcess([command, target, '--db', file]), { message });
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
});

/** Registers a test that runs commands as another user. */
function testAsOther(
  name: string,
  run: (t: TestContext, parts: CommandParts) => Promise<void>,
): void {
  test(name, (t) => {
    const parts = unprivileged(t);
    return parts ? run(t, parts) : skipLoudly(t, 'another user cannot read this tree');
  });
}

/** Returns a new path in a folder to which everybody may write. */
function openTarget(t: TestContext): string {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o777);
  return join(folder, 'backup.db');
}

testAsOther('backup: a folder that cannot be written', async (t, parts) => {
  const file = await filledFile(t, 1);
  for (const each of [dirname(file), temporaryFolder(t)]) chmodSync(each, 0o755);
  const closed = temporaryFolder(t);
  chmodSync(closed, 0o500);
  const ending = await runCommand(t, ['backup', join(closed, 'backup.db'), '--db', file], parts);
  assertRefused(ending, 1, /^notes-server: cannot /);
  const missing = join(closed, 'missing', 'backup.db');
  const reason = /cannot write \S+: ENOENT: no such file or directory, realpath '\S+'$/;
  await assert.rejects(backup(missing, file), reason);
});

testAsOther('backup: private if its user may only read the database', async (t, parts) => {
  if (process.getuid?.() !== 0) return skipLoudly(t, 'it takes two users');
  const db = await filledFile(t, 1);
  chmodSync(db, 0o644);
  chmodSync(dirname(db), 0o755);
  await startService(t, { db });
  const target = openTarget(t);
  assert.equal((await runCommand(t, ['backup', target, '--db', db], parts)).status, 0);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  assert.deepEqual(await checkFile(target), []);
});

testAsOther('backup: of a file or a folder without the right to write', async (t, parts) => {
  const db = await filledFile(t, 1);
  const text = await exported(db);
  for (const [fileMode, folderMode] of [
    [0o444, 0o555],
    [0o444, 0o777],
    [0o666, 0o555],
  ] as const) {
    chmodSync(db, fileMode);
    chmodSync(dirname(db), folderMode);
    const { status, stdout, stderr } = await runCommand(t, ['export', '--db', db], parts);
    assert.deepEqual([status, stdout], [0, text], stderr);
    const target = openTarget(t);
    assert.equal((await runCommand(t, ['backup', target, '--db', db], parts)).status, 0);
    assert.equal(await exported(target), text);
    // Companions of another user would keep the owner out.
    assert.deepEqual(readdirSync(dirname(db)), [basename(db)]);
  }
  chmodSync(db, 0);
  const ending = await runCommand(t, ['backup', join(dirname(db), 'b.db'), '--db', db], parts);
  assertRefused(ending, 1, /^notes-server: cannot open the database \S+: permission denied\n$/);
  chmodSync(dirname(db), 0o777);
});

test('backup: refuses all but sound databases of this program', async (t) => {
  const [foreign, half, damaged] = [newFile(t), newFile(t), await filledFile(t, 300)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  await (await openDatabase(t, half)).close();
  await writeForeignFile(half, 'CREATE TABLE notes_server_import (begun INTEGER) STRICT');
  damagePageOf(damaged, 'title 200');
  const target = newFile(t);
  for (const [db, reason] of [
    [newFile(t), /cannot open the database \S+: there is no such file$/],
    [foreign, /it belongs to another program$/],
    [half, /cannot open the database \S+: it holds an unfinished import: run the import again$/],
    [damaged, /cannot write \S+: the source is damaged$/],
  ] as const) {
    await assert.rejects(backup(target, db), reason);
  }
  assert.deepEqual(readdirSync(dirname(target)), []);
});
