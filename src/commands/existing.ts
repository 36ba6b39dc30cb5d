// Opens existing database files for the commands, shared with a service or exclusively.
import { constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { GUARD } from '../open.ts';
import { UNFINISHED_IMPORT } from '../pages.ts';
import { type Database, DatabaseUnusable, type Source } from '../storage/database.ts';
import { storedSchema } from '../storage/schema/migrations.ts';
import {
  type Connection,
  KEEP_LOCKS,
  openConnection,
  READER_PRAGMAS,
  sqlite3,
  TAKE_WRITE_LOCK,
  WRITER_PRAGMAS,
} from '../storage/sqlite/connection.ts';
import { companionsOf } from '../storage/sqlite/paths.ts';
import { codeOf, isProtected, refuseReadOnly, unusable } from '../storage/sqlite/unusable.ts';

/** A file at rest has been changed during a command that reads it. */
export class FileChanged extends DatabaseUnusable {}

type OpenFile = Pick<Database, 'read' | 'close'> & AsyncDisposable;

/** Whether the database at `path` has no write-ahead log: then nobody is writing to it. */
function isAtRest(path: string): boolean {
  return !existsSync(companionsOf(path)[0]);
}

/** Opens a file read-only. At rest, it has no locks and no companions; {@link FileChanged}. */
export async function openToInspect(path: string, mayBeUnfinished = true): Promise<OpenFile> {
  const wasAtRest = isAtRest(path);
  // Whatever changes or replaces a file gives it another time of its status.
  const timeOf = () => statSync(path, { bigint: true, throwIfNoEntry: false })?.ctimeNs;
  const before = timeOf();
  const address = `${pathToFileURL(resolve(path))}${wasAtRest ? '?immutable=1' : ''}`;
  const flags = sqlite3.OPEN_READONLY | sqlite3.OPEN_URI;
  const connect = () => openConnection(address, flags);
  const file = await openExisting(path, connect, READER_PRAGMAS, { mayBeUnfinished });
  const refuseChanged = () => {
    // A service that starts only adds a log: until that is written into it, the file stays.
    if (wasAtRest && timeOf() !== before)
      throw new FileChanged(`${path} has changed: run the command again`);
  };
  return { ...file, read: (statement) => file.read(statement).finally(refuseChanged) };
}

/** Opens a file that others may use. Without a right to write, it must not change meanwhile. */
export function openShared(path: string): Promise<OpenFile> {
  // SQLite would create a log and an index that this user owns and the file's owner cannot write.
  const isReadOnly = [path, dirname(companionsOf(path)[0])].some((each) =>
    isProtected(each, constants.W_OK),
  );
  if (isReadOnly && existsSync(path) && isAtRest(path)) return openToInspect(path, false);
  // With write access, so that it can remove log and index if it is the last to use the file.
  return openExisting(path, () => openConnection(path, sqlite3.OPEN_READWRITE), READER_PRAGMAS);
}

/** Opens the file that this process serves. */
export function openServed(path: string): Promise<OpenFile> {
  return openExisting(path, () => openConnection(path, sqlite3.OPEN_READONLY), READER_PRAGMAS, {
    isServed: true,
  });
}

/** Opens a file to change it; rejects if somebody uses it. */
export function openAlone(path: string): Promise<OpenFile> {
  const pragmas = `${KEEP_LOCKS}; ${WRITER_PRAGMAS}; ${TAKE_WRITE_LOCK}`;
  return openExisting(path, () => openToWrite(path), pragmas);
}

/** Whether another process has opened the file. If not, a log that is left is written into it. */
export async function isInUse(path: string): Promise<boolean> {
  const file = isAtRest(path) ? undefined : await openAlone(path).catch((error: Error) => error);
  if (file instanceof Error) return codeOf(file.cause) === 'SQLITE_BUSY';
  await file?.close();
  return false;
}

async function openToWrite(path: string): Promise<Connection> {
  refuseReadOnly(path);
  return openConnection(path, sqlite3.OPEN_READWRITE);
}

async function openExisting(
  path: string,
  connect: () => Promise<Connection>,
  pragmas: string,
  { mayBeUnfinished = false, isServed = false } = {},
): Promise<OpenFile> {
  let connection: Connection | undefined;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) throw new DatabaseUnusable('there is no such file');
    if (!found.isFile()) throw new DatabaseUnusable('it is not a file');
    // To open and close a file that this process serves would release the locks of SQLite.
    if (!isServed) GUARD?.clear(path);
    const opened = await connect();
    connection = opened;
    await opened.execute(pragmas);
    const read: Source['read'] = (statement) => opened.exclusively(() => opened.run(statement));
    const { version, isUnfinished } = await storedSchema(read);
    if (version === 0) throw new DatabaseUnusable('it is empty');
    if (isUnfinished && !mayBeUnfinished) throw new Error(UNFINISHED_IMPORT);
    const close = () => opened.close();
    return { read, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await connection?.close().catch(() => {});
    throw unusable(path, error);
  }
}

/** Locks a file, unless it is damaged, until the result is disposed of. */
export async function lockToReplace(path: string): Promise<AsyncDisposable> {
  GUARD?.clear(path);
  let connection: Connection | undefined;
  try {
    connection = await openToWrite(path);
    // In WAL mode, a process that has opened the old file would create a log beside the new one.
    await connection.execute('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    const [row] = await connection.run({ sql: 'PRAGMA journal_mode' });
    if (row?.journal_mode !== 'delete') throw new DatabaseUnusable('another process has opened it');
  } catch (error) {
    if (!['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(codeOf(error))) {
      await connection?.close().catch(() => {});
      throw unusable(path, error);
    }
  }
  // This also ends the transaction.
  return { [Symbol.asyncDispose]: async () => connection?.close() };
}
