// Explains in one line why a database cannot be opened.
import fs from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseUnusable } from '../database.ts';

const FULL = 'the disk is full';

const REASONS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'it is not a SQLite database',
  SQLITE_BUSY: 'another process is using it; stop that process first',
  SQLITE_READONLY: 'it is read-only',
  SQLITE_CORRUPT: 'it is damaged',
  SQLITE_FULL: FULL,
  SQLITE_CANTOPEN: 'it cannot be opened',
};

/** SQLite needs more than this for the index of a log. */
const MIN_FREE_BYTES = 65_536;

/** Returns the error for a database at `path` that could not be opened because of `cause`. */
export function unusable(path: string, cause: unknown): DatabaseUnusable {
  const reason = reasonOf(path, cause);
  return new DatabaseUnusable(`cannot open the database ${path}: ${reason}`, { cause });
}

/** Returns the code of an error's cause or else of the error; an empty text if it has none. */
export function codeOf(error: unknown): string {
  return (((error as Error).cause ?? error) as { code?: string }).code ?? '';
}

/** Returns why the database at `path` cannot be used, given the error of an attempt. */
export function reasonOf(path: string, error: unknown): string {
  const { message } = ((error as Error).cause ?? error) as { message?: string };
  const code = codeOf(error);
  const isVague = code === 'SQLITE_CANTOPEN' || code === 'SQLITE_IOERR';
  const reason = isVague ? reasonAt(path) : undefined;
  return reason ?? REASONS[code] ?? message ?? String(error);
}

/** Returns why SQLite cannot open or write files at `path`; undefined if that is unknown. */
function reasonAt(path: string): string | undefined {
  const folder = dirname(path);
  try {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return 'it is a folder';
    if (found?.isFile() === false) return 'it is not a file';
    if (!fs.existsSync(folder)) return `the folder ${folder} is missing`;
    if (isProtected(path, fs.constants.R_OK)) return 'permission denied';
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
  } catch (error) {
    return (error as Error).message;
  }
  const { bavail, bsize } = fs.statfsSync(folder);
  return bavail * bsize < MIN_FREE_BYTES ? FULL : undefined;
}

/** Whether there is a file or folder at `path` that this user may not access in a `mode`. */
export function isProtected(path: string, mode: number): boolean {
  try {
    fs.accessSync(path, mode);
    return false;
  } catch {
    return fs.existsSync(path);
  }
}

/** Throws if a file may be read but not written: SQLite could not remove the log it creates. */
export function refuseReadOnly(path: string): void {
  const { R_OK, W_OK } = fs.constants;
  if (isProtected(path, W_OK) && !isProtected(path, R_OK))
    throw new DatabaseUnusable('it is read-only');
}
