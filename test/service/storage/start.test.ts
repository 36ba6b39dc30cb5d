// A start on a database that cannot be used: it is refused in one line, the file stays as it was,
// and the same start works once the cause is gone.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { repairFile } from '../../../src/commands/repair.ts';
import { DatabaseUnusable } from '../../../src/storage/database.ts';
import { assertRefused, runCommand, startCommand } from '../../support/command.ts';
import {
  change,
  contentsOf,
  holdLocks,
  openDatabase,
  openPath,
  rows,
  writeForeignFile,
} from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { shortenLockWaits } from '../../support/failing-driver.ts';
import { request } from '../../support/http.ts';
import { runInProcess } from '../../support/in-process-command.ts';
import { startService } from '../../support/service.ts';
import { skipLoudly } from '../../support/skip.ts';
import { fill, NO_MOUNT, remount, smallDisk } from '../../support/small-disk.ts';
import { unprivileged } from '../../support/unprivileged.ts';

const KEPT = { title: 'kept', body: 'kept' };

/** What makes a database unusable, and the reason that a start gives. */
type Unusable = readonly [reason: RegExp, make: (path: string, test: TestContext) => unknown];

/** A database that another program or version has made. */
const foreign = (sql: string) => (path: string) => writeForeignFile(path, sql);

/** A good file that has then been spoilt. */
const spoilt = (spoil: (path: string) => unknown) => async (path: string, t: TestContext) => {
  await writeGoodFile(path, t);
  await spoil(path);
};

const NOT_SQLITE = /not a SQLite database/;

const UNUSABLE: Readonly<Record<string, Unusable>> = {
  'in a folder that is missing': [
    /: the folder \S+data is missing$/,
    (path) => rmSync(dirname(path), { recursive: true }),
  ],
  'that is a folder': [/: it is a folder$/, (path) => mkdirSync(path)],
  'that is a pipe': [/: it is not a file$/, (path) => spawnSync('mkfifo', [path])],
  'that is a loop of links': [
    /: ELOOP: too many symbolic links encountered/,
    (path) => symlinkSync(path, path),
  ],
  'that holds text': [NOT_SQLITE, (path) => writeFileSync(path, 'a shopping list\n')],
  'that holds zeros': [NOT_SQLITE, (path) => writeFileSync(path, Buffer.alloc(8_192))],
  'whose header is overwritten': [NOT_SQLITE, spoilt((path) => overwrite(path, 16, 100))],
  'whose tables are overwritten': [/damaged/, spoilt((path) => overwrite(path, 100, 2_100))],
  ...Object.fromEntries(
    [50, 100, 4_096, 8_192].map((length): [string, Unusable] => [
      `that was cut off after ${length} bytes`,
      [/damaged/, spoilt((path) => truncateSync(path, length))],
    ]),
  ),
  ...Object.fromEntries(
    ['DELETE', 'WAL'].map((journal): [string, Unusable] => [
      `of another program, with versions (${journal})`,
      [
        /belongs to another program/,
        foreign(`PRAGMA journal_mode = ${journal}; CREATE TABLE schema_versions (version INTEGER)`),
      ],
    ]),
  ),
  'of a newer version': [
    /it has version 99, made by a newer notes-server; this one knows \d+/,
    spoilt(foreign('INSERT INTO notes_server_schema VALUES (99)')),
  ],
  ...Object.fromEntries(
    ['versions', 'migrations'].map((name): [string, Unusable] => [
      `of a development version, with ${name}`,
      [
        /a development version made it: export it with that version, and import the export/,
        foreign(`CREATE TABLE notes_server_${name} (version INTEGER PRIMARY KEY)`),
      ],
    ]),
  ),
  'of a development version, whose log has what changes nothing': [
    /a development version made it: export it with that version, and import the export/,
    spoilt(foreign('CREATE TRIGGER note_updated AFTER UPDATE ON notes BEGIN SELECT 1; END')),
  ],
  'of a development version, which keeps a text for each ten minutes': [
    /a development version made it: export it with that version, and import the export/,
    spoilt(foreign('CREATE TRIGGER note_version_kept AFTER UPDATE ON notes BEGIN SELECT 1; END')),
  ],
};

for (const [name, [reason, make]] of Object.entries(UNUSABLE)) {
  test(`start: on a database ${name}`, async (t) => {
    const path = newPath(temporaryFolder(t));
    await make(path, t);
    await assertRefuses(path, reason);
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
    await writeGoodFile(path, t);
    await assertUsable(path);
  });
}

test('start: on a database that another program has locked', async (t) => {
  shortenLockWaits(t, 50);
  const files: Record<string, string> = {};
  for (const journal of ['DELETE', 'WAL'])
    for (const lock of ['IMMEDIATE', 'EXCLUSIVE'])
      files[await goodFile(t)] = `PRAGMA journal_mode = ${journal}; BEGIN ${lock}`;
  const release = await holdLocks(t, files);
  for (const path of Object.keys(files)) await assertRefuses(path, /another process is using it/);
  await release();
  for (const path of Object.keys(files)) await assertUsable(path);
});

for (const [journal, folderMode] of [
  ['DELETE', 0o777],
  ['WAL', 0o777],
  ['WAL', 0o555],
] as const) {
  const what = `a read-only file in a folder ${folderMode.toString(8)}, journal mode ${journal},`;

  test(`start: ${what} is refused, and works when writable`, async (t) => {
    const user = unprivileged(t);
    if (!user) return skipLoudly(t, 'no user is available whom file modes bind');
    const path = newPath(user.folder);
    await writeGoodFile(path, t);
    await writeForeignFile(path, `PRAGMA journal_mode = ${journal}`);
    const backup = join(user.folder, 'backup.db');
    await writeGoodFile(backup, t);
    chmodSync(backup, 0o644);
    chmodSync(path, 0o444);
    chmodSync(dirname(path), folderMode);
    await assertLeftAlone(path, async () => {
      for (const args of [
        argumentsFor(path),
        ['check', path, '--repair'],
        ['restore', backup, '--db', path, '--force'],
      ])
        assertRefused(await runCommand(t, args, user), 1, /: it is read-only\n$/);
      if (folderMode !== 0o555) return;
      const ending = await runCommand(t, argumentsFor(`${path}.new`), user);
      assertRefused(ending, 1, /: EACCES: permission denied, access '\S+data'\n$/);
    });

    chmodSync(path, 0o666);
    chmodSync(dirname(path), 0o777);
    await assertUsable(path);
  });
}

test('start: the reason is named on a full disk, by the commands too', async (t) => {
  const disk = smallDisk(t);
  if (!disk) return skipLoudly(t, NO_MOUNT);
  const path = newPath(disk);
  await writeGoodFile(path, t);
  const other = join(disk, 'other.db');
  const good = await goodFile(t);
  const file = fill(disk);
  for (const attempt of [
    () => openPath(path),
    () => openPath(other),
    () => checkFile(path),
    () => repairFile(path),
    () => runInProcess(['backup', `${other}-2`, '--db', good]),
    () => runInProcess(['restore', good, '--db', `${other}-3`]),
  ])
    await assert.rejects(attempt, /^DatabaseUnusable: cannot \S+ [^\n]*: .*disk is full$/);
  rmSync(file);
  await assertUsable(path);
});

test('start: the reason is named on a read-only disk, by the commands too', async (t) => {
  const disk = smallDisk(t);
  if (!disk) return skipLoudly(t, NO_MOUNT);
  const path = newPath(disk);
  await writeGoodFile(path, t);
  const other = join(disk, 'data', 'other.db');
  const good = await goodFile(t);
  remount(disk, 'ro');
  await assertLeftAlone(path, async () => {
    for (const attempt of [
      () => openPath(path),
      () => openPath(other),
      () => repairFile(path),
      () => runInProcess(['backup', other, '--db', path]),
      () => runInProcess(['export', other, '--db', path]),
      () => runInProcess(['restore', good, '--db', other]),
      () => runInProcess(['restore', good, '--db', path, '--force']),
    ])
      await assert.rejects(attempt, /^DatabaseUnusable: cannot \S+ [^\n]*read-only/);
    assert.deepEqual(await checkFile(path), []);
  });
  remount(disk, 'rw');
  await assertUsable(path);
});

test('start: an empty file becomes a database with an id, which copies keep', async (t) => {
  const path = newPath(temporaryFolder(t));
  const idOf = (file: string) => readFileSync(file).toString('latin1', 68, 72);
  writeFileSync(path, '');
  await writeGoodFile(path, t);
  assert.equal(idOf(path), 'ntsv');
  const [copy, restored] = [`${path}.copy`, `${path}.restored`];
  await runInProcess(['backup', copy, '--db', path]);
  await runInProcess(['restore', copy, '--db', restored]);
  assert.deepEqual([idOf(copy), idOf(restored)], ['ntsv', 'ntsv']);
  // An id that a user has set stays.
  await writeForeignFile(path, `PRAGMA application_id = ${0x61626364}`);
  await assertUsable(path);
  assert.equal(idOf(path), 'abcd');
});

test('start: two processes on one new file serve the same notes', async (t) => {
  const path = newPath(temporaryFolder(t));
  const [service, url] = await Promise.all([
    startService(t, { db: path }),
    startCommand(t, argumentsFor(path)).ready(),
  ]);
  const created = await service.request('POST', '/notes', { json: KEPT });
  assert.equal(created.status, 201);
  assert.equal((await request(url, 'GET', '/notes/1')).text, created.text);
});

function newPath(folder: string): string {
  const path = join(folder, 'data', 'notes.db');
  mkdirSync(dirname(path));
  return path;
}

function argumentsFor(path: string): string[] {
  return ['--port', '0', '--log-level', 'silent', '--db', path];
}

async function assertLeftAlone(path: string, refusedStart: () => Promise<void>): Promise<void> {
  const folder = dirname(path);
  const contents = () => (existsSync(folder) ? contentsOf(folder) : {});
  const before = contents();
  await refusedStart();
  assert.deepEqual(contents(), before);
}

function assertRefuses(path: string, reason: RegExp): Promise<void> {
  return assertLeftAlone(path, () =>
    assert.rejects(openPath(path), (error) => {
      assert.ok(error instanceof DatabaseUnusable);
      assert.match(error.message, /^cannot open the database \S+notes\.db: [^\n]+$/);
      assert.match(error.message, reason);
      return true;
    }),
  );
}

async function assertUsable(path: string): Promise<void> {
  const database = await openPath(path);
  assert.deepEqual(await rows(database, 'SELECT id, title, body FROM notes WHERE id = 1'), [
    { id: 1, ...KEPT },
  ]);
  await change(database, `INSERT INTO notes (title, body) VALUES ('new', 'new')`);
  await database.close();
}

async function writeGoodFile(path: string, test: TestContext): Promise<void> {
  const database = await openDatabase(test, path);
  await change(database, `INSERT INTO notes (title, body) VALUES ('kept', 'kept')`);
  await database.close();
}

async function goodFile(test: TestContext): Promise<string> {
  const path = newPath(temporaryFolder(test));
  await writeGoodFile(path, test);
  return path;
}

function overwrite(path: string, start: number, end: number): void {
  writeFileSync(path, readFileSync(path).fill(0xff, start, end));
}
