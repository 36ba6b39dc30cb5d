// Opens existing database files for the commands, shared with a service or exclusively.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { DatabaseUnusable } from '../database.ts';
import { storedSchema } from '../schema/migrations.ts';
import { type Connection, openConnection } from './connection.ts';
import { companionsOf, identityOf } from './files.ts';
import { refuseForeignLog } from './foreign-log.ts';
import { CACHE_PRAGMA, KEEP_LOCKS, READER_PRAGMAS, TAKE_WRITE_LOCK } from './pragmas.ts';
import { codeOf, unusable } from './unusable.ts';

/** Whether the database at `path` has no write-ahead log: then nobody is writing to it. */
export function isAtRest(path: string): boolean {
  return !existsSync(companionsOf(path)[0]);
}

/**
 * Opens a file of this program read-only; others may use it. With `atRest`, takes no locks and
 * creates no log or index, because a read-only connection could not remove them. `verify` is as in
 * {@link openConnection}. Rejects with {@link DatabaseUnusable} if the file is missing, empty, of
 * another program or of a newer version.
 */
export function openToInspect(
  path: string,
  atRest: boolean,
  verify?: () => void,
): Promise<Connection> {
  const address = `${pathToFileURL(resolve(path))}${atRest ? '?immutable=1' : ''}`;
  const mode = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI;
  return openExisting(path, address, mode, READER_PRAGMAS, verify);
}

/**
 * Opens a file of this program to read it; others may use it. A user who may not write reads a file
 * at rest without locks; if it changes meanwhile, statements reject with {@link DatabaseUnusable}.
 * Rejects as {@link openToInspect}.
 */
export async function openShared(path: string): Promise<Connection> {
  // SQLite would create a log and an index that this user owns and the file's owner cannot write.
  if (isProtected(path) && isAtRest(path)) return openUnlocked(path);
  try {
    // With write access, so that it can remove log and index if it is the last to use the file.
    return await openExisting(path, path, sqlite3.OPEN_READWRITE, READER_PRAGMAS);
  } catch (error) {
    const isRefused = ['SQLITE_READONLY', 'SQLITE_CANTOPEN'].includes(
      codeOf((error as Error).cause),
    );
    if (!isRefused || !isAtRest(path)) throw error;
    return openUnlocked(path);
  }
}

function openUnlocked(path: string): Promise<Connection> {
  return openToInspect(path, true, createChangeCheck(path));
}

/** Whether there is a file or folder at `path` that this user may not write. */
function isProtected(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch {
    return existsSync(path);
  }
}

/** Returns a check that throws if the file at `path` has changed, or a log has appeared. */
function createChangeCheck(path: string): () => void {
  const stateOf = () => {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [isAtRest(path), ino, size, mtimeNs, ctimeNs].join();
  };
  const before = stateOf();
  return () => {
    if (stateOf() !== before)
      throw new DatabaseUnusable(`${path} has changed: run the command again`);
  };
}

/**
 * Opens a file of this program to read it, so that nobody else can use it until it is closed. A
 * user who may not write the file or its folder cannot lock it, and reads it as {@link openShared}
 * does. Rejects with {@link DatabaseUnusable} if somebody uses it, and as {@link openToInspect}
 * does.
 */
export function openAlone(path: string): Promise<Connection> {
  const [log] = companionsOf(path);
  const isLockable = ![path, dirname(log)].some(isProtected);
  if (!isLockable && existsSync(path) && isAtRest(path)) return openUnlocked(path);
  const pragmas = `${KEEP_LOCKS}; ${CACHE_PRAGMA}; ${TAKE_WRITE_LOCK}`;
  return openExisting(path, path, sqlite3.OPEN_READWRITE, pragmas);
}

/**
 * Checkpoints the log of the file at `path` and locks the file until the returned function is
 * called. Rejects with {@link DatabaseUnusable} if somebody uses it. Does not lock a file that
 * SQLite finds to be damaged or no database.
 */
export async function lockToReplace(path: string): Promise<() => Promise<void>> {
  const connection = await openOwn(path).catch((error) => {
    throw unusable(path, error);
  });
  const identity = identityOf(path);
  let mode = 'delete';
  async function release(): Promise<void> {
    await connection.execute('ROLLBACK').catch(() => {});
    // If the file was replaced, SQLite would create a log beside the new file.
    if (mode === 'wal' && identityOf(path) === identity)
      await connection.execute('PRAGMA journal_mode = WAL').catch(() => {});
    await connection.close();
  }
  try {
    mode = await journalMode(connection);
    // Leave WAL mode: a process that has opened the old file would create its log beside the new
    // file.
    await connection.execute('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    if ((await journalMode(connection)) !== 'delete')
      throw new DatabaseUnusable('another process has opened it');
  } catch (error) {
    if (['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(codeOf(error))) return release;
    await release().catch(() => {});
    throw unusable(path, error);
  }
  return release;
}

async function openOwn(path: string): Promise<Connection> {
  refuseForeignLog(path);
  return openConnection(path, sqlite3.OPEN_READWRITE);
}

async function journalMode(connection: Connection): Promise<string> {
  const [row] = await connection.run({ sql: 'PRAGMA journal_mode' });
  return String(row?.journal_mode);
}

async function openExisting(
  path: string,
  address: string,
  mode: number,
  pragmas: string,
  verify?: () => void,
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) throw new DatabaseUnusable('there is no such file');
    if (!found.isFile()) throw new DatabaseUnusable('it is not a file');
    refuseForeignLog(path);
    const opened = await openConnection(address, mode, verify);
    connection = opened;
    await opened.execute(pragmas);
    const { version } = await storedSchema((statement) => opened.run(statement));
    if (version === 0) throw new DatabaseUnusable('it is empty');
    return opened;
  } catch (error) {
    await connection?.close().catch(() => {});
    throw unusable(path, error);
  }
}
