// `notes-server restore` as its users meet it: where nothing is, in the place of what is there, and where it must not.
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
import { checkFile } from '../../../src/storage/check.ts';
import { seize } from '../../../src/storage/sqlite.ts';
import { assertRefused, type Ending, runCommand, startCommand } from '../../support/command.ts';
import { contentsOf, newFile, writeForeignFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import { request } from '../../support/http.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { beside } from '../../support/stored-data.ts';
import { until } from '../../support/until.ts';

const NOTE = { title: 'a', body: 'b' };

/** Returns the path of a backup with so many notes, made as users make it. */
async function backupOf(t: TestContext, count: number): Promise<string> {
  const target = newFile(t);
  const { status } = await runCommand(t, ['backup', target, '--db', await filledFile(t, count)]);
  assert.equal(status, 0);
  return target;
}

const restore = (t: TestContext, backup: string, db: string, ...flags: string[]): Promise<Ending> =>
  runCommand(t, ['restore', backup, '--db', db, ...flags]);

async function notesIn(file: string): Promise<unknown> {
  assert.deepEqual(await checkFile(file), []);
  const [row] = await beside(file, (connection) => connection.run({ sql: 'SELECT count(*) AS notes FROM notes' }));
  return row?.notes;
}

test('where nothing is the backup becomes the database, and no id is given twice', async (t) => {
  const [backup, db] = [await backupOf(t, 3_000), newFile(t)];
  chmodSync(backup, 0o640);
  const before = contentsOf(dirname(backup));
  const { status, stdout } = await restore(t, backup, db);
  assert.deepEqual([status, stdout], [0, `${db} holds what ${backup} held\n`]);
  assert.deepEqual(readdirSync(dirname(db)), [basename(db)]);
  assert.equal(statSync(db).mode & 0o777, 0o640);
  assert.deepEqual(contentsOf(dirname(backup)), before);
  const { request, close } = await startService(t, { db });
  assert.equal((await request('GET', '/notes')).json.total, 3_006);
  assert.equal((await request('POST', '/notes', { json: NOTE })).json.id, 3_009);
  await close();
  assert.equal(await notesIn(db), 3_007);
});

test('a database that is there is replaced with --force alone, and kept with what was in its log', async (t) => {
  const [backup, db] = [await backupOf(t, 10), newFile(t)];
  const command = startCommand(t, ['--port', '0', '--db', db]);
  const url = await command.ready();
  assert.equal((await request(url, 'POST', '/notes', { json: NOTE })).status, 201);
  command.process.kill('SIGKILL');
  await command.ended;
  chmodSync(db, 0o600);
  assert.ok(statSync(`${db}-wal`).size > 0);

  const before = contentsOf(dirname(db));
  assertRefused(
    await restore(t, backup, db),
    1,
    /is there already: --force puts the backup in its place and keeps it$/m,
  );
  assert.deepEqual(contentsOf(dirname(db)), before);

  const kept = `${db}.replaced-1`;
  const { status, stdout } = await restore(t, backup, db, '--force');
  assert.deepEqual([status, stdout], [0, `${db} holds what ${backup} held; what was there is ${kept}\n`]);
  assert.deepEqual(readdirSync(dirname(db)), [basename(db), basename(kept)]);
  assert.equal(statSync(db).mode & 0o777, 0o600);
  assert.deepEqual([await notesIn(db), await notesIn(kept)], [16, 1]);
  assert.match((await restore(t, backup, db, '--force')).stdout, /\.replaced-2$/m);
});

test('while a service uses the database it is not replaced, and the service does not mind', async (t) => {
  const [backup, db] = [await backupOf(t, 10), newFile(t)];
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  assertRefused(await restore(t, backup, db, '--force'), 1, /another process holds a lock on it/);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db-shm', 'notes.db-wal']);
  await service.close();
  assert.equal(await notesIn(db), 2);
});

test('a service that is started in the middle of it does not write to what has been put away', {
  skip: existsSync('/proc/self/fd') ? false : 'it looks into /proc',
}, async (t) => {
  const [other, db] = [await backupOf(t, 10), await filledFile(t, 1)];
  const release = await seize(db);
  const command = startCommand(t, ['--port', '0', '--db', db]);
  const files = `/proc/${command.process.pid}/fd`;
  // It has opened the file and waits for it.
  await until(() => readdirSync(files).some((each) => linkAt(join(files, each)) === db));
  renameSync(db, `${db}.kept`);
  renameSync(other, db);
  await release();
  assertRefused(await command.ended, 1, /cannot open the database/);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db.kept']);
});

test('what a service makes in the middle of it stays, with all that was acknowledged', async (t) => {
  const [backup, db] = [await backupOf(t, 100_000), newFile(t)];
  const run = startCommand(t, ['restore', backup, '--db', db, '--force']);
  const unfinished = `${db}.unfinished-${run.process.pid}`;
  await until(() => existsSync(unfinished) && statSync(unfinished).size > 1_000_000);
  run.process.kill('SIGSTOP');
  const service = await startService(t, { db });
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  run.process.kill('SIGCONT');
  const { status, stderr } = await run.ended;
  assert.equal(status, 1, stderr);
  assert.match(stderr, /is there without its database|cannot write \S+: somebody has made one meanwhile$/m);
  assert.equal((await service.request('POST', '/notes', { json: NOTE })).status, 201);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db-shm', 'notes.db-wal']);
  await service.close();
  assert.equal(await notesIn(db), 2);
});

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

test('a log without its database does not become that of the backup', async (t) => {
  const [backup, db, used] = [await backupOf(t, 10), newFile(t), await filledFile(t, 1)];
  await beside(used, async (connection) => {
    await connection.execute('PRAGMA journal_mode = WAL; DELETE FROM notes');
    copyFileSync(`${used}-wal`, `${db}-wal`);
  });
  const before = contentsOf(dirname(db));
  for (const flags of [[], ['--force']]) {
    const ending = await restore(t, backup, db, ...flags);
    assertRefused(ending, 1, /notes\.db-wal is there without its database: move it away first$/m);
  }
  assert.deepEqual(contentsOf(dirname(db)), before);
});

test('a database that is damaged is replaced, and kept with its log as it is', async (t) => {
  const [backup, db] = [await backupOf(t, 10), newFile(t)];
  writeFileSync(db, 'no database any more\n'.repeat(500));
  writeFileSync(`${db}-wal`, 'a log');
  assert.equal((await restore(t, backup, db, '--force')).status, 0);
  assert.equal(await notesIn(db), 16);
  assert.equal(readFileSync(`${db}.replaced-1`, 'utf8').slice(0, 11), 'no database');
  assert.equal(readFileSync(`${db}.replaced-1-wal`, 'utf8'), 'a log');
});

test('what a link leads to is replaced, and the link stays', async (t) => {
  const [backup, db, link] = [await backupOf(t, 10), await filledFile(t, 1), newFile(t)];
  symlinkSync(db, link);
  assert.equal((await restore(t, backup, link, '--force')).status, 0);
  assert.equal(readlinkSync(link), db);
  assert.equal(await notesIn(db), 16);
  assertRefused(await restore(t, db, link, '--force'), 1, /is what it would be put in the place of/);
});

test('a backup that is missing, damaged or of another program changes nothing', async (t) => {
  const [foreign, damaged, db] = [newFile(t), await backupOf(t, 5_000), await filledFile(t, 1)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  writeFileSync(damaged, readFileSync(damaged).fill(0xff, 40_960, 81_920));
  const before = contentsOf(dirname(db));
  for (const [backup, reason] of [
    [newFile(t), /there is no such file/],
    [foreign, /it belongs to another program/],
    [damaged, /notes\.db is damaged: .+, and \d+ more faults$/m],
  ] as const) {
    assertRefused(await restore(t, backup, db, '--force'), 1, reason);
  }
  assert.deepEqual(contentsOf(dirname(db)), before);
});

test('after a kill all is as it was, and the next run is not in its way', async (t) => {
  const [backup, db] = [await backupOf(t, 100_000), await filledFile(t, 1)];
  const before = contentsOf(dirname(db))['notes.db'];
  const first = startCommand(t, ['restore', backup, '--db', db, '--force']);
  const unfinished = `${db}.unfinished-${first.process.pid}`;
  await until(() => existsSync(unfinished) && statSync(unfinished).size > 1_000_000);
  first.process.kill('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');
  assert.equal(await notesIn(db), 7);
  assert.ok(before);
  assert.equal((await restore(t, backup, db, '--force')).status, 0);
  assert.equal(await notesIn(db), 100_006);
  assert.deepEqual(readdirSync(dirname(db)), ['notes.db', 'notes.db.replaced-1']);
});

test('on a full disk all is as it was', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const db = join(folder, 'notes.db');
  assert.equal((await restore(t, await backupOf(t, 1), db)).status, 0);
  const { status, stderr } = await restore(t, await backupOf(t, 5_000), db, '--force');
  assert.deepEqual([status, /^notes-server: cannot write \S+: [^\n]*full$/m.test(stderr)], [1, true]);
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  assert.equal(await notesIn(db), 7);
});

test('a name that SQLite would take for a URI, and one without its folder, are those of files', async (t) => {
  const [backup, folder] = [await backupOf(t, 10), temporaryFolder(t)];
  for (const [name, others] of [
    ['file:x.db', []],
    ['notes.db', ['notes.db.replaced-1']],
  ] as const) {
    assert.equal((await runCommand(t, ['restore', backup, '--db', name], { folder })).status, 0);
    if (others.length > 0) {
      assert.equal((await runCommand(t, ['restore', backup, '--db', name, '--force'], { folder })).status, 0);
    }
    assert.equal(await notesIn(join(folder, name)), 16);
    assert.deepEqual(
      readdirSync(folder).filter((each) => each.startsWith(name)),
      [name, ...others],
    );
  }
});

test('a relative name keeps the log of what is damaged beside it', async (t) => {
  const [backup, folder] = [await backupOf(t, 10), temporaryFolder(t)];
  writeFileSync(join(folder, 'notes.db'), 'no database any more\n'.repeat(500));
  writeFileSync(join(folder, 'notes.db-wal'), 'a log');
  assert.equal((await runCommand(t, ['restore', backup, '--force'], { folder })).status, 0);
  assert.equal(readFileSync(join(folder, 'notes.db.replaced-1-wal'), 'utf8'), 'a log');
  assert.equal(await notesIn(join(folder, 'notes.db')), 16);
});

test('what has the name of something left behind is not taken away where it is the backup', async (t) => {
  const [backup, db] = [await backupOf(t, 10), newFile(t)];
  const gone = startCommand(t, ['--version']);
  await gone.ended;
  for (const name of [`${db}.unfinished`, `${db}.unfinished-${gone.process.pid}`]) {
    copyFileSync(backup, name);
    const before = contentsOf(dirname(db));
    const { status, stderr } = await restore(t, name, db, '--force');
    if (status !== 0) {
      assert.match(stderr, /has a name of what is made on the way: give it another$/m);
      assert.deepEqual(contentsOf(dirname(db)), before);
    }
    assert.equal(await notesIn(name), 16);
  }
});

test('what is no file is not replaced', async (t) => {
  const [backup, folder] = [await backupOf(t, 10), temporaryFolder(t)];
  const [link, pipe] = [join(folder, 'link'), join(folder, 'pipe')];
  symlinkSync('nowhere', link);
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  for (const place of [folder, link, pipe]) {
    assertRefused(await restore(t, backup, place, '--force'), 1, / is no file$/m);
  }
  assert.deepEqual(readdirSync(folder), ['link', 'pipe']);
});

test('a restore of nothing, of several or to a cluster is told in one line, with exit status 2', async (t) => {
  const folder = temporaryFolder(t);
  for (const args of [
    [],
    ['a', 'b'],
    ['a', '--db', ':memory:'],
    ['a', '--db', 'rqlite://127.0.0.1:1'],
    ['a', '--from', 'b'],
  ]) {
    assertRefused(await runCommand(t, ['restore', ...args], { folder }), 2, /see --help/);
  }
  assert.deepEqual(readdirSync(folder), []);
});
