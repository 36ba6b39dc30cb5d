// Opens existing files for the commands: to look into them, to read them, or to have them alone.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { DatabaseUnusable } from '../database.ts';
import { storedVersion } from '../migrations.ts';
import { type Connection, openConnection } from './connection.ts';
import { CACHE_PRAGMA, LOCK_OUT, READER_PRAGMAS, TAKE_WRITE_LOCK } from './pragmas.ts';
import { codeOf, unusable } from './unusable.ts';

/**
 * Opens a file of this program read-only, beside whoever uses it. A file that is `atRest`, with no
 * log beside it, is opened without creating companions, which a reader could not remove. Rejects
 * with {@link DatabaseUnusable} if the file is missing, empty, of another program or of a newer
 * version.
 */
export function openToInspect(path: string, atRest: boolean): Promise<Connection> {
  const address = `${pathToFileURL(resolve(path))}${atRest ? '?immutable=1' : ''}`;
  return openExisting(path, address, sqlite3.OPEN_READONLY | sqlite3.OPEN_URI, READER_PRAGMAS);
}

/**
 * Opens a file of this program to read it beside whoever uses it. Rejects as {@link openToInspect}
 * does.
 */
export function openBeside(path: string): Promise<Connection> {
  // With write access, so that it can remove the companions if it is the last to use the file.
  return openExisting(path, path, sqlite3.OPEN_READWRITE, READER_PRAGMAS);
}

/**
 * Opens a file of this program so that nobody else can use it until it is closed. Rejects with
 * {@link DatabaseUnusable} if somebody does, and as {@link openToInspect} does.
 */
export function openAlone(path: string): Promise<Connection> {
  return openExisting(
    path,
    path,
    sqlite3.OPEN_READWRITE,
    `${LOCK_OUT}; ${CACHE_PRAGMA}; ${TAKE_WRITE_LOCK}`,
  );
}

/**
 * Takes the file at `path` away from everybody else, with its log checkpointed, until the returned
 * function is called. Rejects with {@link DatabaseUnusable} if somebody uses it. A file that SQLite
 * cannot read is not locked.
 */
export async function seize(path: string): Promise<() => Promise<void>> {
  const connection = await openConnection(path, sqlite3.OPEN_READWRITE).catch((error) => {
    throw unusable(path, error);
  });
  try {
    // Leave WAL mode: another open connection would re-create the log beside whatever file has this
    // name by then.
    await connection.execute('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    const [mode] = await connection.run({ sql: 'PRAGMA journal_mode' });
    if (mode?.journal_mode !== 'delete')
      throw new DatabaseUnusable('another process has opened it');
  } catch (error) {
    if (['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(codeOf(error)))
      return () => connection.close();
    await connection.close().catch(() => {});
    throw unusable(path, error);
  }
  return () => connection.close();
}

async function openExisting(
  path: string,
  address: string,
  mode: number,
  pragmas: string,
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
    if (!isFile) throw new DatabaseUnusable('there is no such file');
    const opened = await openConnection(address, mode);
    connection = opened;
    await opened.execute(pragmas);
    const version = await storedVersion((statement) => opened.run(statement));
    if (version === 0) throw new DatabaseUnusable('it is empty');
    return opened;
  } catch (error) {
    await connection?.close().catch(() => {});
    throw unusable(path, error);
  }
}
