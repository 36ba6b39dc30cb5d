// Databases for the storage tests: real files, other programs that use the same file, and a
// database that records its calls.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  type Dirent,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sqlite3 from 'sqlite3';
import { parseDatabase } from '../../src/cli/option-values.ts';
import { GUARD, openStorage } from '../../src/open.ts';
import type { NumbersByTable } from '../../src/pages.ts';
import { foretold } from '../../src/rqlite/engine.ts';
import type { Database, PreparedStep, Row, Statement } from '../../src/storage/database.ts';
import { newGeneration } from '../../src/storage/numbers.ts';
import { migrate } from '../../src/storage/schema/migrations.ts';
import { RELATIONS } from '../../src/storage/schema/steps.ts';
import { type Connection, openConnection } from '../../src/storage/sqlite/connection.ts';
import { openSqlite } from '../../src/storage/sqlite/engine.ts';
import { sqlOf } from '../../src/storage/step.ts';
import { type Ends, temporaryFolder } from './engine.ts';

/** The counts of a database without records. */
export const NO_RECORDS: NumbersByTable = Object.fromEntries(
  RELATIONS.map(({ table }) => [table, 0]),
);

const PAGE_BYTES = 4_096;

/** The files of `notes.db` while a service uses it. */
export const FILES_IN_USE = ['notes.db', 'notes.db-origin', 'notes.db-shm', 'notes.db-wal'];

/** Returns the path of a new file in a folder that is removed at the end of the test. */
export function newFile(test: Ends): string {
  return join(temporaryFolder(test), 'notes.db');
}

/** Opens a database without tables, by default a new file, until the test ends. */
export async function openEmpty(test: Ends, path?: string): Promise<Database> {
  let close = () => Promise.resolve();
  // Registered before the hook that removes the folder.
  test.after(() => close());
  const database = await openSqlite(path ?? newFile(test), { guard: GUARD });
  let closed: Promise<void> | undefined;
  close = () => {
    closed ??= database.close();
    return closed;
  };
  return { ...database, close };
}

/** A database with the tables of the service, and its generation, which its bytes have once. */
interface Template {
  readonly bytes: Buffer;
  readonly generation: string;
}

let template: Promise<Template> | undefined;

async function makeTemplate(): Promise<Template> {
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-test-'));
  const path = join(folder, 'notes.db');
  const database = await openSqlite(path);
  await migrate(database);
  const [row] = await rows(database, 'SELECT generation FROM notes_server_generation');
  await database.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return { bytes, generation: String(row?.generation) };
}

/** Writes a migrated database: a copy, as migrations take longer, with its own generation. */
export async function writeMigrated(path: string): Promise<void> {
  template ??= makeTemplate();
  const { bytes, generation } = await template;
  const copy = Buffer.from(bytes);
  copy.write(newGeneration(), copy.indexOf(generation), 'latin1');
  writeFileSync(path, copy, { mode: 0o600, flag: 'wx' });
}

/** Writes a new file in which these statements were carried out; resolves with its path. */
export async function writeFilled(test: Ends, statements: readonly string[]): Promise<string> {
  const path = newFile(test);
  await writeMigrated(path);
  const database = await openPath(path);
  for (const sql of statements) await change(database, sql);
  await database.close();
  return path;
}

/** Opens a database with the tables of the service, as {@link openEmpty} does. */
export async function openDatabase(test: Ends, path?: string): Promise<Database> {
  const file = path ?? newFile(test);
  if (path === undefined) await writeMigrated(file);
  const database = await openEmpty(test, file);
  await migrate(database);
  return database;
}

/** Opens a database as the service does at its start. */
export function openPath(path: string): Promise<Database> {
  const db = parseDatabase(path);
  return openStorage('serve', { db, dbPassword: undefined, dbPasswordFile: undefined });
}

/** Opens the file as another program would. It is closed at the end of the test. */
export async function openOther(test: Ends, path: string): Promise<Connection> {
  const connection = await openConnection(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
  const close = connection.close.bind(connection);
  let closed: Promise<void> | undefined;
  connection.close = () => {
    closed ??= close();
    return closed;
  };
  test.after(() => connection.close());
  return connection;
}

/** Reads without a parameter. */
export function rows(database: Database, sql: string): Promise<readonly Row[]> {
  return database.read({ sql });
}

/** Runs one statement without a parameter as a transaction, and returns its rows. */
export async function change(database: Database, sql: string): Promise<readonly Row[]> {
  const [result = []] = await database.transact([{ sql }]);
  return result;
}

/** Returns the clause with which a statement can select each `n` up to `count` from `numbers`. */
export const withNumbers = (count: number) => `WITH RECURSIVE numbers (n) AS (
  VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;

/** A statement, and the query for the rows that a cluster stores. */
export type HeardStatement = Statement & { readonly rows?: string | undefined };

/** Returns the statements that the engines make of what a transaction has. */
export function heardStatement(given: Statement | PreparedStep): HeardStatement {
  if (!('step' in given)) return given;
  const { step, parameter } = given;
  return { sql: sqlOf(step), parameter, rows: foretold(step) };
}

/** A database that records what it is asked, and can be made to fail. */
export interface Overheard {
  readonly database: Database;
  readonly reads: Statement[];
  readonly transactions: { readonly statements: readonly HeardStatement[] }[];
  beforeTransaction: () => Promise<void>;
}

/** Records what `database` is asked. */
export function overhear(database: Database): Overheard {
  const heard: Overheard = {
    reads: [],
    transactions: [],
    beforeTransaction: () => Promise.resolve(),
    database: {
      ...database,
      read(statement) {
        heard.reads.push(statement);
        return database.read(statement);
      },
      async transact(statements) {
        heard.transactions.push({ statements: statements.map(heardStatement) });
        await heard.beforeTransaction();
        return database.transact(statements);
      },
    },
  };
  return heard;
}

/** Returns the entries of a folder and the digests of its files. */
export function contentsOf(folder: string): Record<string, string> {
  const describe = (entry: Dirent) => {
    if (!entry.isFile()) return 'not a file';
    return createHash('sha256')
      .update(readFileSync(join(folder, entry.name)))
      .digest('hex');
  };
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true }).map((entry) => [entry.name, describe(entry)]),
  );
}

/** Runs `sql` on a file, new or not, as another program. */
export async function writeForeignFile(path: string, sql: string): Promise<void> {
  const connection = await openConnection(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
  await connection.execute(sql);
  await connection.close();
}

/** Overwrites the first page of a file that has this text. */
export function damagePageOf(path: string, text: string): void {
  const bytes = readFileSync(path);
  const place = bytes.indexOf(text);
  assert.notEqual(place, -1);
  const start = place - (place % PAGE_BYTES);
  writeFileSync(path, bytes.fill(0xff, start, start + PAGE_BYTES));
}

/** SQL of a trigger that changes each new note. */
export const PWN = `CREATE TRIGGER pwned AFTER INSERT ON notes BEGIN
  UPDATE notes SET body = 'pwned' WHERE id = new.id; END`;

/** SQL that adds a comment that the index of the comments of a note lacks. */
export const LOSE_INDEXED_ROW = `PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = sql || ' WHERE id < 0' WHERE name = 'comments_of_note';
  PRAGMA writable_schema = RESET;
  INSERT INTO comments (note_id, body, number) VALUES (1, 'not indexed', 4_000);
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, ' WHERE id < 0', '')
    WHERE name = 'comments_of_note'`;

/** Runs `sql` in another process, which keeps its locks until the returned function is called. */
export function holdLock(test: Ends, path: string, sql: string): Promise<() => Promise<void>> {
  return holdLocks(test, { [path]: sql });
}

/** Does as {@link holdLock} with several files and the SQL for each. */
export async function holdLocks(
  test: Ends,
  files: Record<string, string>,
): Promise<() => Promise<void>> {
  const program = fileURLToPath(new URL('lock-holder.js', import.meta.url));
  const args = Object.entries(files).flat();
  const holder = spawn(process.execPath, [program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'close');
  const release = async () => {
    holder.stdin.end();
    await ended;
  };
  test.after(release);
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(() => assert.fail('the lock was not taken')),
  ]);
  return release;
}
