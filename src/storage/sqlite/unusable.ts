// Explains in one line why a database cannot be opened.
import { DatabaseUnusable } from '../database.ts';

/** Returns the error for a database at `path` that could not be opened because of `error`. */
export function unusable(path: string, error: unknown): DatabaseUnusable {
  return new DatabaseUnusable(`cannot open the database ${path}: ${reasonOf(error)}`, {
    cause: error,
  });
}

/** Returns SQLite's result code of an error or its cause, or an empty text. */
export function codeOf(error: unknown): string {
  return (((error as Error).cause ?? error) as { code?: string }).code ?? '';
}

function reasonOf(error: unknown): string {
  const { message } = ((error as Error).cause ?? error) as { message?: string };
  switch (codeOf(error)) {
    case 'SQLITE_NOTADB':
      return 'it is not a SQLite database';
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return 'another process holds a lock on it';
    case 'SQLITE_READONLY':
      return 'it is read-only';
    case 'SQLITE_CANTOPEN':
      return 'its folder is missing, or it is not a file that can be opened';
    case 'SQLITE_CORRUPT':
      return 'it is damaged';
    default:
      return message ?? String(error);
  }
}
