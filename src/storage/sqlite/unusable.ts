// Explains in one line why a database cannot be opened.
import { accessSync, constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseUnusable } from '../database.ts';

const LOOP = 'its path is a loop of symbolic links';
const IN_USE = 'another process is using it; stop that process first';

const REASONS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'it is not a SQLite database',
  SQLITE_BUSY: IN_USE,
  SQLITE_LOCKED: IN_USE,
  SQLITE_READONLY: 'it is read-only',
  SQLITE_CORRUPT: 'it is damaged',
  EACCES: 'permission denied',
  ELOOP: LOOP,
};

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
  if (isSpecial(path)) return 'it is not a file';
  const code = codeOf(error);
  if (code === 'SQLITE_CANTOPEN') return reasonAt(path);
  return REASONS[code] ?? message ?? String(error);
}

function reasonAt(path: string): string {
  const folder = dirname(path);
  const isFolder = (name: string) => statSync(name, { throwIfNoEntry: false })?.isDirectory();
  try {
    if (isFolder(path)) return 'it is a folder';
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    if (isLink && !existsSync(path)) return reasonAt(resolve(folder, readlinkSync(path)));
    if (!isFolder(folder)) return `the folder ${folder} is missing`;
    if (isProtected(path, constants.R_OK)) return 'permission denied';
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ELOOP') return LOOP;
    return code === 'ENOTDIR'
      ? `${folder} is not a folder`
      : `permission denied in the folder ${folder}`;
  }
  return 'it cannot be opened';
}

/** Whether there is a file or folder at `path` that this user may not access in a `mode`. */
export function isProtected(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return false;
  } catch {
    return existsSync(path);
  }
}

/** Whether there is a device, a pipe or a socket at `path`, which SQLite may open. */
function isSpecial(path: string): boolean {
  try {
    const found = statSync(path);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}
