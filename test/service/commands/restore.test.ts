// `notes-server restore`: to a new file, over an existing database, and when it is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFile } from '../../../src/commands/check.ts';
import { lockToReplace } from '../../../src/commands/existing.ts';
import { assertRefused, runCommand, startCommand } from '../../support/command.ts';
import {
  contentsOf,
  damagePageOf,
  FILES_IN_USE,
  newFile,
  writeForeignFile,
} from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { filledFile, notesIn } from '../../support/filled.ts';
import { breakAt, type InProcessParts, runInProcess } from '../../support/in-process-command.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };
const PAUSE_MS = 5;

/** Returns the path of a backup of a database that {@link filledFile} makes. */
async function backupOf(t: TestContext, count: number): Promise<string> {
  const target = newFile(t);
  await runInProcess(['backup', target, '--db', await filledFile(t, count)]);
  return target;
}

const restore = (backup: string, db: string, parts?: InProcessParts) =>
  runInProcess(['restore', backup, '--db', db, '--force'], parts);

test('restore: creates a missing database, and no id is assigned twice', async (t) => {
  const [backup, db] = [await backupOf(t, 300), newFile(t)];
  chmodSync(backup, 0o640);
  const before = contentsOf(dirname(backup));
  const ending = await runCommand(t, ['restore', backup, '--db', db]);
  const stdout = `restored ${db} from ${backup}\n`;
  assert.deepEqual(ending, { status: 0, signal: null, stdout, stderr: '' });
  assert.deepEqual(readdirSync(dirname(db)), [basename(db)]);
  assert.equal(statSync(db).mode & 0o777, 0o640);
  assert.deepEqual(contentsOf(dirname(backup)), before);
  const { request, close } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, 306);
  assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, 309);
  await close();
  assert.equal(await notesIn(db), 307);
});

test('restore: entity tags and cursors of before do not match afterwards', async (t) => {
  const [db, backup] = [newFile(t), newFile(t)];
  const service = await startService(t, { db });
  const created = await service.request('POST', '/notes', { json: NOTE });
  await runInProcess(['backup', backup, '--db', db]);
  await service.close();
  await restore(backup, db);
  const { request, close } = await startService(t, { db });
  const found = await request('GET', '/notes/1');
  assert.notEqual(found.headers.etag, created.headers.etag);
  assert.match(String(found.headers.etag), /^"[0-9a-f]{8}-1"$/);
  // The log has the change, but it belongs to the generation of before.
  for (const { headers } of [created, found]) {
    const since = String(headers.etag).replace(/^"|-1"$/g, '');
    assert.equal((await request('GET', `/changes?since=${since}-0`)).status, 410);
  }
  await close();
  assert.deepEqual(await checkFile(db), []);
});

test('restore: replaces only with --force, and keeps the old log', async (t) => {
  const [backup, db, running] = [await backupOf(t, 10), newFile(t), newFile(t)];
  const service = await startService(t, { db: running });
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  // As after a kill: what was written is in the log alone.
  for (const end of ['', '-wal']) copyFileSync(`${running}${end}`, `${db}${end}`);
  chmodSync(db, 0o600);
  assert.ok(statSync(`${db}-wal`).size > 0);

  const before = contentsOf(dirname(db));
  const hint = /already exists: --force replaces it and keeps the old file$/;
  await assert.rejects(runInProcess(['restore', backup, '--db', db]), hint);
  assert.deepEqual(contentsOf(dirname(db)), before);

  const kept = `${db}.replaced-1`;
  const { line } = await restore(backup, db);
  assert.equal(line, `restored ${db} from ${backup}; the old file is ${kept}`);
  assert.deepEqual(readdirSync(dirname(db)), [basename(db), basename(kept)]);
  assert.equal(statSync(db).mode & 0o777, 0o600);
  assert.deepEqual([await notesIn(db), await notesIn(kept)], [16, 1]);
  assert.match(String((await restore(backup, db)).line), /\.replaced-2$/);
});

test('restore: refused while a service uses the database', async (t) => {
  const [backup, db] = [await backupOf(t, 10), newFile(t)];
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  const used = /another process is using it; stop that process first$/;
  await assert.rejects(restore(backup, db), used);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  assert.deepEqual(readdirSync(dirname(db)), FILES_IN_USE);
  await service.close();
  assert.equal(await notesIn(db), 2);
});

test('restore: a service started meanwhile refuses the replaced file', {
  skip: existsSync('/proc/self/fd') ? false : 'it looks into /proc',
}, async (t) => {
  const [other, db] = [await backupOf(t, 10), await filledFile(t, 1)];
  const lock = await lockToReplace(db);
  const command = startCommand(t, ['--port', '0', '--db', db]);
  const files = `/proc/${command.process.pid}/fd`;
  const { ino } = statSync(db);
  // It has opened the file and waits for it.
  await until(async () => {
    await sleep(PAUSE_MS);
    const opened = readdirSync(files).map((each) => join(files, each));
    return opened.some((each) => statSync(each, { throwIfNoEntry: false })?.ino === ino);
  });
  renameSync(db, `${db}.kept`);
  renameSync(other, db);
  await lock[Symbol.asyncDispose]();
  assertRefused(await command.ended, 1, /cannot open the database/);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db.kept']);
});

test('restore: a database that appears meanwhile stays', async (t) => {
  const [backup, other] = [await backupOf(t, 10), await filledFile(t, 1)];
  for (const [end, reason] of [
    ['', /cannot write \S+: EEXIST: file already exists, link /],
    ['-wal', /notes\.db-wal exists without its database: move it away first$/],
  ] as const) {
    const db = newFile(t);
    const onProgress = () => copyFileSync(other, `${db}${end}`);
    await assert.rejects(restore(backup, db, { onProgress }), reason);
    assert.deepEqual(readdirSync(dirname(db)), [`notes.db${end}`]);
    assert.deepEqual(readFileSync(`${db}${end}`), readFileSync(other));
  }
});

test('restore: the old database is in place until the backup is complete', async (t) => {
  const [backup, db] = [await backupOf(t, 300), await filledFile(t, 1)];
  const { ino } = statSync(db);
  const broken = restore(backup, db, { onProgress: breakAt('restored 100 %') });
  await assert.rejects(broken, /cannot write \S+: broken off$/);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db']);
  assert.equal(await notesIn(db), 7);
  const seen: unknown[] = [];
  const onProgress = () => seen.push([statSync(db).ino, readdirSync(dirname(db)).length]);
  await restore(backup, db, { onProgress });
  assert.ok(seen.length > 0);
  for (const each of seen) assert.deepEqual(each, [ino, 2]);
  assert.equal(await notesIn(db), 306);
});

test('restore: refused if there is a log without its database', async (t) => {
  const backup = await backupOf(t, 10);
  for (const end of ['-wal', '-journal']) {
    const db = newFile(t);
    writeFileSync(`${db}${end}`, 'a log');
    await assert.rejects(restore(backup, db), /: \S+ exists without its database: move it away/);
    assert.deepEqual(readdirSync(dirname(db)), [`${basename(db)}${end}`]);
  }
});

test('restore: the target of a link is replaced; nothing but a file is', async (t) => {
  const [backup, db, link] = [await backupOf(t, 10), await filledFile(t, 1), newFile(t)];
  symlinkSync(db, link);
  await restore(backup, link);
  assert.equal(readlinkSync(link), db);
  assert.equal(await notesIn(db), 16);
  await assert.rejects(restore(db, link), /backup and database are the same file: \S+notes\.db$/);
  const folder = temporaryFolder(t);
  const [broken, pipe] = [join(folder, 'link'), join(folder, 'pipe')];
  symlinkSync('nowhere', broken);
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  for (const place of [folder, broken, pipe])
    await assert.rejects(restore(backup, place), / is not a file$/);
  assert.deepEqual(readdirSync(folder), ['link', 'pipe']);
});

test('restore: a missing, damaged or foreign backup is refused', async (t) => {
  const [foreign, damaged, db] = [newFile(t), await backupOf(t, 300), await filledFile(t, 1)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  damagePageOf(damaged, 'title 200');
  const before = contentsOf(dirname(db));
  for (const [backup, reason] of [
    [newFile(t), /there is no such file$/],
    [foreign, /it belongs to another program$/],
    [damaged, /cannot restore \S+notes\.db: Tree \d+ page \d+/],
  ] as const) {
    await assert.rejects(restore(backup, db), reason);
  }
  assert.deepEqual(contentsOf(dirname(db)), before);
});

test('restore: a full disk changes nothing', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const db = join(folder, 'notes.db');
  await runInProcess(['restore', await backupOf(t, 1), '--db', db]);
  await assert.rejects(restore(await backupOf(t, 3_000), db), /cannot write \S+: SQLITE_FULL: /);
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  assert.equal(await notesIn(db), 7);
});

test('restore: a damaged database, and a name that looks like a URI', async (t) => {
  const [backup, folder] = [await backupOf(t, 10), temporaryFolder(t)];
  writeFileSync(join(folder, 'notes.db'), 'no database any more\n'.repeat(500));
  writeFileSync(join(folder, 'notes.db-wal'), 'a log');
  for (const [name, args] of [
    ['file:x.db', ['--db', 'file:x.db']],
    ['notes.db', ['--force']],
  ] as const) {
    const { status, stderr } = await runCommand(t, ['restore', backup, ...args], { folder });
    assert.equal(status, 0, stderr);
    assert.equal(await notesIn(join(folder, name)), 16);
  }
  const kept = join(folder, 'notes.db.replaced-1');
  assert.equal(readFileSync(kept, 'utf8').slice(0, 11), 'no database');
  assert.equal(readFileSync(`${kept}-wal`, 'utf8'), 'a log');
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  const databases = ['file:x.db', 'notes.db', 'notes.db.replaced-1'];
  assert.deepEqual(names, [...databases, 'notes.db.replaced-1-wal']);
});
