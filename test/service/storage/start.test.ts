// A start on a database that cannot be used: one line on standard error, exit status 1, the file as it was, and the same
// command works once the cause is gone. The cases run side by side, for some wait the five seconds that a lock is given.
import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { assertRefused, type CommandParts, runCommand, startCommand, stop } from '../../support/command.ts';
import { change, contentsOf, holdLock, openDatabase, writeForeignFile } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/engine.ts';
import { request } from '../../support/http.ts';
import { skipLoudly } from '../../support/skip.ts';
import { unprivileged } from '../../support/unprivileged.ts';

/** A state of the file; `make` may return what brings it to a good one, where that is not to put another in its place. */
interface Unusable {
  readonly name: string;
  readonly reason: RegExp;
  make(path: string, test: TestContext): void | Promise<void> | Promise<() => unknown>;
}

const UNUSABLE: readonly Unusable[] = [
  {
    name: 'in a folder that is missing',
    reason: /folder is missing/,
    make: (path) => rmSync(dirname(path), { recursive: true }),
  },
  { name: 'that is a folder', reason: /no file/, make: (path) => mkdirSync(path) },
  { name: 'that holds text', reason: /no SQLite file/, make: (path) => writeFileSync(path, 'a shopping list\n') },
  { name: 'that holds zeros', reason: /no SQLite file/, make: (path) => writeFileSync(path, Buffer.alloc(8_192)) },
  {
    name: 'whose header is overwritten',
    reason: /no SQLite file/,
    async make(path, t) {
      await writeGoodFile(path, t);
      overwrite(path, 16, Buffer.alloc(84, 0xff));
    },
  },
  {
    name: 'whose tables are overwritten',
    reason: /damaged/,
    async make(path, t) {
      await writeGoodFile(path, t);
      overwrite(path, 100, Buffer.alloc(2_000, 0xff));
    },
  },
  ...[50, 100, 4_096, 8_192].map((length) => ({
    name: `that was cut off after ${length} bytes`,
    reason: /damaged/,
    async make(path: string, t: TestContext) {
      await writeGoodFile(path, t);
      truncateSync(path, length);
    },
  })),
  {
    name: 'of another program',
    reason: /belongs to another program/,
    make: (path) => writeForeignFile(path, 'CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)'),
  },
  {
    name: 'of a newer version',
    reason: /it has version 2, made by a newer notes-server; this one knows 1/,
    async make(path, t) {
      await writeGoodFile(path, t);
      await writeForeignFile(path, 'INSERT INTO notes_server_versions VALUES (2)');
    },
  },
  ...['DELETE', 'WAL'].flatMap((journal) =>
    ['IMMEDIATE', 'EXCLUSIVE'].map((lock) => ({
      name: `that another program has locked (${lock}, journal mode ${journal})`,
      reason: /another process holds a lock/,
      async make(path: string, t: TestContext) {
        await writeGoodFile(path, t);
        return holdLock(t, path, `PRAGMA journal_mode = ${journal}; BEGIN ${lock}`);
      },
    })),
  ),
];

const SIDE_BY_SIDE = { concurrency: 8, timeout: 60_000 };

describe('a start is refused, and works once the cause is gone, with a database', SIDE_BY_SIDE, () => {
  for (const { name, reason, make } of UNUSABLE) {
    test(name, async (t) => {
      const folder = temporaryFolder(t);
      const path = join(folder, 'data', 'notes.db');
      mkdirSync(dirname(path));
      const mend = await make(path, t);
      await assertLeftAlone(t, path, reason);

      if (mend) await mend();
      else await replaceByGoodFile(path, t);
      await assertServes(t, path);
    });
  }

  for (const { name, journal, fileMode, folderMode } of [
    { name: 'that is read-only', journal: 'DELETE', fileMode: 0o444, folderMode: 0o777 },
    { name: 'that is read-only (journal mode WAL)', journal: 'WAL', fileMode: 0o444, folderMode: 0o777 },
    { name: 'in a folder that is read-only', journal: 'WAL', fileMode: 0o444, folderMode: 0o555 },
  ]) {
    test(name, async (t) => {
      const user = unprivileged(t);
      if (!user)
        return skipLoudly(t, 'there is no way to be a user who can read this tree and may not write everywhere');
      const path = join(user.folder, 'data', 'notes.db');
      mkdirSync(dirname(path));
      await writeGoodFile(path, t);
      await writeForeignFile(path, `PRAGMA journal_mode = ${journal}`);
      chmodSync(path, fileMode);
      chmodSync(dirname(path), folderMode);
      await assertLeftAlone(t, path, /read-only/, user);

      chmodSync(path, 0o666);
      chmodSync(dirname(path), 0o777);
      rmSync(`${path}-shm`, { force: true });
      rmSync(`${path}-wal`, { force: true });
      await assertServes(t, path, user);
    });
  }
});

test('an empty file becomes a database', async (t) => {
  const path = join(temporaryFolder(t), 'notes.db');
  writeFileSync(path, '');
  const command = startCommand(t, argumentsFor(path));
  assert.equal(
    (await request(await command.ready(), 'POST', '/notes', { json: { title: 'kept', body: 'kept' } })).status,
    201,
  );
  assert.equal((await stop(command)).status, 0);
  await assertServes(t, path);
});

test('two commands that start on one new file serve the same notes', async (t) => {
  const path = join(temporaryFolder(t), 'notes.db');
  const commands = [startCommand(t, argumentsFor(path)), startCommand(t, argumentsFor(path))] as const;
  const [one, other] = await Promise.all([commands[0].ready(), commands[1].ready()]);
  const created = await request(one, 'POST', '/notes', { json: { title: 'kept', body: 'kept' } });
  assert.equal(created.status, 201);
  assert.equal((await request(other, 'GET', '/notes/1')).text, created.text);
});

function argumentsFor(path: string): string[] {
  return ['--port', '0', '--log-level', 'silent', '--db', path];
}

async function assertLeftAlone(t: TestContext, path: string, reason: RegExp, parts?: CommandParts): Promise<void> {
  const folder = dirname(path);
  const contents = () => (existsSync(folder) ? contentsOf(folder) : {});
  const before = contents();
  assertRefused(await runCommand(t, argumentsFor(path), parts), 1, reason);
  // SQLite cannot take the auxiliary files of a read-only file away again.
  assert.deepEqual({ ...contents(), ...before }, contents());
}

async function assertServes(t: TestContext, path: string, parts?: CommandParts): Promise<void> {
  const command = startCommand(t, argumentsFor(path), parts);
  const url = await command.ready();
  assert.equal((await request(url, 'GET', '/notes/1')).text, '{"id":1,"title":"kept","body":"kept"}');
  assert.equal((await request(url, 'POST', '/notes', { json: { title: 'new', body: 'new' } })).status, 201);
  const { status, stderr } = await stop(command);
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
}

/** Makes a database of the service with one note in it. */
async function writeGoodFile(path: string, test: TestContext): Promise<void> {
  const database = await openDatabase(test, path);
  await change(database, `INSERT INTO notes (title, body) VALUES ('kept', 'kept')`);
  await database.close();
}

async function replaceByGoodFile(path: string, test: TestContext): Promise<void> {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  await writeGoodFile(path, test);
}

function overwrite(path: string, position: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, position);
  closeSync(file);
}
