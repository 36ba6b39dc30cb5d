// `notes-server backup` as its users meet it: beside a service that is written to all the time, and where it goes wrong.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkFile } from '../../../src/storage/check.ts';
import { assertRefused, runCommand, startCommand } from '../../support/command.ts';
import { newFile, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { needsFile, temporaryFolder } from '../../support/engine.ts';
import { filledFile } from '../../support/filled.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.ts';
import { beside } from '../../support/stored-data.ts';
import { unprivileged } from '../../support/unprivileged.ts';
import { until } from '../../support/until.ts';

const WRITERS = 8;

test('twenty backups under eight writers: each is sound, serves, and holds what was acknowledged, in its order', {
  skip: needsFile,
}, async (t) => {
  const service = await startService(t, { db: await filledFile(t, 5_000) });
  const folder = temporaryFolder(t);
  const [sent, acknowledged] = [Array<number>(WRITERS).fill(0), Array<number>(WRITERS).fill(0)];
  let writing = true;
  const written = Promise.all(
    sent.map(async (_, writer) => {
      for (let turn = 1; writing; turn += 1) {
        sent[writer] = turn;
        const json = { title: `by ${writer}`, body: String(turn) };
        assert.equal((await service.request('POST', '/notes', { json })).status, 201);
        acknowledged[writer] = turn;
      }
    }),
  );
  for (let round = 0; round < 20; round += 1) {
    const target = join(folder, `${round}.db`);
    const least = [...acknowledged];
    const { status, stdout } = await runCommand(t, ['backup', target, '--db', service.file]);
    const most = [...sent];
    assert.deepEqual([status, stdout], [0, `${target} holds what ${service.file} held\n`]);
    assert.deepEqual(await checkFile(target), []);
    const found = await beside(target, (connection) =>
      connection.run({
        sql: `SELECT title, count(*) AS count, max(CAST(body AS INTEGER)) AS last, min(lag) AS ordered
              FROM (SELECT title, body, coalesce(CAST(body AS INTEGER) = lag(CAST(body AS INTEGER)) OVER (PARTITION BY title ORDER BY id) + 1, body = '1') AS lag
                    FROM notes WHERE title LIKE 'by %') GROUP BY title`,
      }),
    );
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const { count = 0, last = 0, ordered = 1 } = found.find(({ title }) => title === `by ${writer}`) ?? {};
      assert.deepEqual([count, ordered], [last, 1], `writer ${writer}`);
      assert.ok(Number(last) >= Number(least[writer]) && Number(last) <= Number(most[writer]), `${last} of ${writer}`);
    }
    const restored = await startService(t, { db: target });
    assert.equal((await restored.request('GET', '/notes/1')).json.title, 'title 1');
    assert.equal((await restored.request('POST', '/notes', { json: { title: 'a', body: 'b' } })).status, 201);
    await restored.close();
  }
  writing = false;
  await written;
  assert.ok(
    acknowledged.every((count) => count > 20),
    String(acknowledged),
  );
  assert.deepEqual(readdirSync(folder).length, 20);
});

test('the database is that of the option, of the environment, or notes.db', async (t) => {
  const file = await filledFile(t, 1);
  const folder = dirname(file);
  for (const [args, env] of [
    [['--db', file], {}],
    [[], { NOTES_DB: file }],
    [[], {}],
  ] as const) {
    const target = newFile(t);
    assert.equal((await runCommand(t, ['backup', target, ...args], { env, folder })).status, 0);
    assert.deepEqual(await checkFile(target), []);
  }
});

test('a backup needs no companions, and is open to nobody to whom its database is not', async (t) => {
  const file = await filledFile(t, 1);
  for (const mode of [0o600, 0o640, 0o444]) {
    chmodSync(file, mode);
    const target = newFile(t);
    assert.equal((await runCommand(t, ['backup', target, '--db', file])).status, 0);
    assert.equal(statSync(target).mode & 0o777, mode);
    assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  }
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
});

test('what is there already is left as it is: a file, a link that leads nowhere, a folder', async (t) => {
  const [file, folder] = [await filledFile(t, 1), temporaryFolder(t)];
  writeFileSync(join(folder, 'file'), 'mine');
  symlinkSync('nowhere', join(folder, 'link'));
  for (const target of [join(folder, 'file'), join(folder, 'link'), folder, file]) {
    assertRefused(await runCommand(t, ['backup', target, '--db', file]), 1, / is there already$/m);
  }
  assert.equal(readFileSync(join(folder, 'file'), 'utf8'), 'mine');
  assert.deepEqual(readdirSync(folder), ['file', 'link']);
});

test('after a kill there is no backup, and the next one is not in its way', async (t) => {
  const file = await filledFile(t, 100_000);
  const target = newFile(t);
  const first = startCommand(t, ['backup', target, '--db', file]);
  const unfinished = `${target}.unfinished-${first.process.pid}`;
  await until(() => existsSync(unfinished) && statSync(unfinished).size > 1_000_000);
  first.process.kill('SIGKILL');
  assert.equal((await first.ended).signal, 'SIGKILL');
  assert.ok(!existsSync(target));
  assert.equal((await runCommand(t, ['backup', target, '--db', file])).status, 0);
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  assert.deepEqual(await checkFile(target), []);
});

test('of several backups to one place at one time one at least is made, and is whole', async (t) => {
  const file = await filledFile(t, 50_000);
  const target = newFile(t);
  const endings = await Promise.all([1, 2, 3].map(() => runCommand(t, ['backup', target, '--db', file])));
  assert.ok(endings.some(({ status }) => status === 0));
  for (const { status, stderr } of endings) {
    if (status !== 0) assert.match(stderr, /is there already$/m);
  }
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  assert.deepEqual(await checkFile(target), []);
});

test('a name in which SQLite keeps what belongs to the database is no place for a backup', async (t) => {
  const file = await filledFile(t, 1);
  for (const end of ['-wal', '-shm', '-journal']) {
    const parts = { folder: dirname(file) };
    for (const target of [`${file}${end}`, `${basename(file)}${end}`]) {
      for (const command of ['backup', 'export']) {
        const { status, stderr } = await runCommand(t, [command, target, '--db', file], parts);
        assert.equal(status, 1);
        assert.match(stderr, /is there already$|cannot write \S+: SQLite keeps there what belongs to \S+$/m);
      }
    }
  }
  assert.deepEqual(readdirSync(dirname(file)), [basename(file)]);
});

test('what a run left that was ended before it took its name away is no hindrance', async (t) => {
  const [file, target] = [await filledFile(t, 1), newFile(t)];
  const gone = startCommand(t, ['--version']);
  await gone.ended;
  await startService(t, { db: file });
  const left = `${target}.unfinished-${gone.process.pid}`;
  // As between a link and the removal of the first name: a file that is in use.
  linkSync(file, left);
  writeFileSync(`${left}-journal`, '');
  assert.equal((await runCommand(t, ['backup', target, '--db', file])).status, 0);
  assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
});

test('on a full disk nothing is left, and the reason is told in one line', async (t) => {
  const folder = smallDisk(t);
  if (!folder) return skipLoudly(t, NO_MOUNT);
  const target = join(folder, 'backup.db');
  const { status, stderr } = await runCommand(t, ['backup', target, '--db', await filledFile(t, 5_000)]);
  assert.equal(status, 1);
  assert.match(stderr, /^notes-server: cannot write \S+backup\.db: [^\n]*full\n$/m);
  assert.deepEqual(readdirSync(folder), []);
  assert.equal((await runCommand(t, ['backup', target, '--db', await filledFile(t, 10)])).status, 0);
});

test('a place that cannot be written is told in one line', async (t) => {
  const parts = unprivileged(t);
  if (!parts) return skipLoudly(t, 'another user cannot read this tree');
  const file = await filledFile(t, 1);
  for (const each of [dirname(file), temporaryFolder(t)]) chmodSync(each, 0o755);
  const closed = temporaryFolder(t);
  chmodSync(closed, 0o500);
  const missing = join(closed, 'missing', 'backup.db');
  for (const target of [join(closed, 'backup.db'), missing]) {
    const ending = await runCommand(t, ['backup', target, '--db', file], parts);
    assert.match(ending.stderr, /^notes-server: cannot [^\n]+\n$/);
    assert.equal(ending.status, 1);
  }
  assertRefused(await runCommand(t, ['backup', missing, '--db', file]), 1, /cannot write \S+: ENOENT/);
});

test('who may only read a database can back it up beside a service, for themselves alone', {
  skip: needsFile,
}, async (t) => {
  const parts = unprivileged(t);
  if (!parts || process.getuid?.() !== 0) return skipLoudly(t, 'it takes two users');
  const db = await filledFile(t, 1);
  chmodSync(db, 0o644);
  chmodSync(dirname(db), 0o755);
  await startService(t, { db });
  const open = temporaryFolder(t);
  chmodSync(open, 0o777);
  const target = join(open, 'backup.db');
  assert.equal((await runCommand(t, ['backup', target, '--db', db], parts)).status, 0);
  assert.equal(statSync(target).mode & 0o777, 0o600);
  assert.deepEqual(await checkFile(target), []);
});

test('what is no sound database of this program is told in one line, and no backup is made of it', async (t) => {
  const [foreign, half, damaged] = [newFile(t), newFile(t), await filledFile(t, 5_000)];
  await writeForeignFile(foreign, 'CREATE TABLE theirs (id INTEGER)');
  const database = await openDatabase(t, half);
  await database.transact('half', [{ sql: 'CREATE TABLE notes_server_import (begun INTEGER) STRICT' }]);
  await database.close();
  const bytes = readFileSync(damaged);
  writeFileSync(damaged, bytes.fill(0xff, 40_960, 81_920));
  const target = newFile(t);
  const of = (db: string) => runCommand(t, ['backup', target, '--db', db]);
  assertRefused(await of(newFile(t)), 1, /there is no such file/);
  assertRefused(await of(foreign), 1, /it belongs to another program/);
  assertRefused(await of(half), 1, /cannot open the database \S+: an import into it was not finished: run it again/);
  const { status, stderr } = await of(damaged);
  assert.deepEqual(
    [status, /^notes-server: cannot write \S+: what should be in it is damaged$/m.test(stderr)],
    [1, true],
  );
  assert.deepEqual(readdirSync(dirname(target)), []);
});

test('a backup of no file or of a cluster, and one too many words, is told in one line, with exit status 2', async (t) => {
  for (const args of [[], ['a', 'b'], ['a', '--port', '0'], ['a', '--force']]) {
    assertRefused(await runCommand(t, ['backup', ...args]), 2, /see --help/);
  }
  for (const db of [':memory:', 'rqlite://127.0.0.1:1']) {
    assertRefused(await runCommand(t, ['backup', 'a', '--db', db]), 2, /from one file to another; for a cluster there/);
  }
  assert.match((await runCommand(t, ['backup', '--help'])).stdout, /notes-server backup TARGET/);
});
