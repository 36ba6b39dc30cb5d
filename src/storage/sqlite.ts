// The embedded engine: SQLite in a file, by the `sqlite3` package. One connection writes, two read (WAL lets them read
// beside the writer); a database in memory has a single connection for both. The package is imported here and in
// sqlite-connection.ts alone.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import {
  type Database,
  DatabaseDamaged,
  DatabaseUnavailable,
  DatabaseUnusable,
  type Row,
  type Statement,
} from './database.ts';
import { storedVersion } from './migrations.ts';
import { type Connection, openConnection } from './sqlite-connection.ts';
import { placeOf } from './sqlite-place.ts';

const READERS = 2;
const BUSY_TIMEOUT_MS = 5_000;

/** For each connection, and taken only as far as the file is read: with it pages cost a quarter less than with 2 MiB. */
const CACHE_KIB = 65_536;

/** Versions before this one can lose a committed transaction when the write-ahead log is reset (SQLite 3.51.3 notes). */
const OLDEST_SQLITE = '3.51.3';

const FOR_READING = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA cache_size = -${CACHE_KIB}`;

/** Reads a page of the file, which `SELECT 1` would not. */
const PING: Statement = { sql: 'SELECT count(*) AS tables FROM sqlite_schema' };

/** Waits for the right to write, uses it (BEGIN alone does not mind a read-only file) and gives it back. */
const WRITE_NOTHING = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK';

/** From here on the first statement takes the file, or finds it in use. */
const LOCK_OUT = 'PRAGMA locking_mode = EXCLUSIVE';
const ALONE = `${LOCK_OUT}; PRAGMA cache_size = -${CACHE_KIB}; ${WRITE_NOTHING}`;

/**
 * Commits without changing anything. A commit that failed only when it was to be made durable stands whole in the
 * write-ahead log, and would be there after a crash; the next one is written in its place, durable or not.
 */
const WRITE_OVER = 'PRAGMA user_version = 0';

/**
 * Opens the SQLite file at `path` (made when it does not exist) or a fresh database in memory (`:memory:`).
 * Rejects with {@link DatabaseUnusable} when it cannot be opened, is locked, read-only, no SQLite file, of another
 * program or a newer version, or when the linked SQLite is too old; such a file stays as it is. Opened `alone`, nobody else can
 * use it until it is closed.
 */
export async function openSqlite(path: string, { alone = false } = {}): Promise<Database> {
  const connections: Connection[] = [];
  try {
    const writer = await openConnection(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
    connections.push(writer);
    if (alone) await writer.execute(LOCK_OUT);
    await prepareWriter(writer, path);
    const readers = alone || path === ':memory:' ? [writer] : await openReaders(path, connections);
    return database(writer, readers, placeOf(path));
  } catch (error) {
    for (const connection of connections) await connection.close().catch(() => {});
    throw unusable(path, error);
  }
}

async function prepareWriter(writer: Connection, path: string): Promise<void> {
  const version = await writer.run({ sql: 'SELECT sqlite_version() AS version' });
  const found = String(version[0]?.version);
  if (found.localeCompare(OLDEST_SQLITE, 'en', { numeric: true }) < 0) {
    throw new DatabaseUnusable(`the sqlite3 package brings SQLite ${found}; ${OLDEST_SQLITE} or later is needed`);
  }
  await writer.execute(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Before the first change: a file that is not ours stays as it is.
  await storedVersion(writer.run);
  const mode = await writer.run({ sql: 'PRAGMA journal_mode' });
  if (path !== ':memory:' && mode[0]?.journal_mode !== 'wal') await useWriteAheadLog(writer);
  await writer.execute(`PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -${CACHE_KIB}`);
  // Tells a read-only or locked file now and not at the first note.
  await writer.execute(WRITE_NOTHING);
}

/** Where two processes switch at once, SQLite refuses one of them without waiting; that one finds the work done. */
async function useWriteAheadLog(writer: Connection): Promise<void> {
  const switchOver = () => writer.execute('PRAGMA journal_mode = WAL');
  await switchOver().catch(async () => {
    await writer.execute(WRITE_NOTHING);
    await switchOver();
  });
}

async function openReaders(path: string, connections: Connection[]): Promise<Connection[]> {
  const readers: Connection[] = [];
  for (let count = 0; count < READERS; count += 1) {
    const reader = await openConnection(path, sqlite3.OPEN_READONLY);
    connections.push(reader);
    readers.push(reader);
    await reader.execute(FOR_READING);
  }
  return readers;
}

/**
 * Opens a file of this program to look into it, read-only and beside whoever uses it; one that is `atRest`, with no log
 * beside it, without making the companions that a reader of a log needs and could not take away again. Rejects with
 * {@link DatabaseUnusable} when it is missing, no SQLite file, empty, of another program or a newer version.
 */
export function openToInspect(path: string, atRest: boolean): Promise<Connection> {
  const address = `${pathToFileURL(resolve(path))}${atRest ? '?immutable=1' : ''}`;
  return openExisting(path, address, sqlite3.OPEN_READONLY | sqlite3.OPEN_URI, FOR_READING);
}

/** Opens a file of this program to read it beside whoever uses it. Rejects where {@link openToInspect} does. */
export function openBeside(path: string): Promise<Connection> {
  // With the right to write, so that it leaves no companions behind where it is the last to use the file.
  return openExisting(path, path, sqlite3.OPEN_READWRITE, FOR_READING);
}

/**
 * Opens a file of this program so that nobody else can use it until it is closed. Rejects with {@link DatabaseUnusable} when
 * somebody does, and where {@link openToInspect} does.
 */
export function openAlone(path: string): Promise<Connection> {
  return openExisting(path, path, sqlite3.OPEN_READWRITE, ALONE);
}

/**
 * Takes the file at `path` from everybody else, whatever is in it, with its log folded into it, until the returned function is
 * called. Rejects with {@link DatabaseUnusable} when somebody uses it. Does nothing with what SQLite cannot make out.
 */
export async function seize(path: string): Promise<() => Promise<void>> {
  const connection = await openConnection(path, sqlite3.OPEN_READWRITE).catch((error) => {
    throw unusable(path, error);
  });
  try {
    // With a log, who has opened the file already would make one anew when it is let go of, beside whatever has its name then.
    await connection.execute('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    const [mode] = await connection.run({ sql: 'PRAGMA journal_mode' });
    if (mode?.journal_mode !== 'delete') throw new DatabaseUnusable('another process has opened it');
  } catch (error) {
    if (['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(codeOf(error))) return () => connection.close();
    await connection.close().catch(() => {});
    throw unusable(path, error);
  }
  return () => connection.close();
}

async function openExisting(path: string, address: string, mode: number, pragmas: string): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new DatabaseUnusable('there is no such file');
    connection = await openConnection(address, mode);
    await connection.execute(pragmas);
    if ((await storedVersion(connection.run)) === 0) throw new DatabaseUnusable('it is empty');
    return connection;
  } catch (error) {
    await connection?.close().catch(() => {});
    throw unusable(path, error);
  }
}

function database(writer: Connection, readers: readonly Connection[], checkPlace: () => void): Database {
  const connections = new Set([...readers, writer]);
  const transaction = transactionsOn(writer);

  return {
    read(statement) {
      const reader = readers.reduce((best, next) => (next.pending() < best.pending() ? next : best));
      return reader.exclusively(() => reader.run(statement));
    },

    transact(_batchId, statements) {
      return writer.exclusively(async () => {
        checkPlace();
        return transaction(statements);
      });
    },

    async ping() {
      checkPlace();
      await Promise.all([...connections].map((each) => each.exclusively(() => each.run(PING))));
    },

    async close() {
      // The writer last: only a connection that may write can fold the write-ahead log into the file.
      for (const connection of connections) await connection.close();
    },
  };
}

/** Returns what runs statements as one transaction of `writer`, which it must have for itself meanwhile. */
function transactionsOn(writer: Connection): (statements: readonly Statement[]) => Promise<(readonly Row[])[]> {
  let mayBeOpen = false;

  async function rollBack(): Promise<void> {
    await writer.execute('ROLLBACK').catch((error) => {
      // Anything else says that there is none: SQLite has rolled back by itself (disk full, I/O error).
      if (error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged) throw error;
    });
    mayBeOpen = false;
  }

  return async (statements) => {
    // Within one that is still open nothing would be durable.
    if (mayBeOpen) await rollBack();
    try {
      return await run(statements);
    } catch (error) {
      if (isIoError(error)) await writer.execute(WRITE_OVER).catch(() => {});
      throw error;
    }
  };

  async function run(statements: readonly Statement[]): Promise<(readonly Row[])[]> {
    const [only] = statements;
    // A single statement is a transaction of its own, and three trips shorter.
    if (only && statements.length === 1) return [await writer.run(only)];
    await writer.execute('BEGIN IMMEDIATE');
    try {
      const results: (readonly Row[])[] = [];
      for (const statement of statements) results.push(await writer.run(statement));
      await writer.execute('COMMIT');
      return results;
    } catch (error) {
      mayBeOpen = true;
      await rollBack().catch(() => {});
      throw error;
    }
  }
}

function isIoError(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable && (error.cause as { code?: string } | undefined)?.code === 'SQLITE_IOERR'
  );
}

/** Returns the end of a start on the database at `path`: in one line, why what failed with `error` cannot be done. */
export function unusable(path: string, error: unknown): DatabaseUnusable {
  return new DatabaseUnusable(`cannot open the database ${path}: ${reason(error)}`, { cause: error });
}

/** The result code of SQLite's that is behind an error, or an empty text. */
function codeOf(error: unknown): string {
  return (((error as Error).cause ?? error) as { code?: string }).code ?? '';
}

function reason(error: unknown): string {
  const { message } = ((error as Error).cause ?? error) as { message?: string };
  switch (codeOf(error)) {
    case 'SQLITE_NOTADB':
      return 'it is no SQLite file';
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return 'another process holds a lock on it';
    case 'SQLITE_READONLY':
      return 'it is read-only';
    case 'SQLITE_CANTOPEN':
      return 'its folder is missing, or it is no file that may be opened';
    case 'SQLITE_CORRUPT':
      return 'it is damaged';
    default:
      return message ?? String(error);
  }
}
