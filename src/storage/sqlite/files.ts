// The files of a database: the main file, its write-ahead log and the index of the log.
import { realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { DatabaseUnavailable } from '../database.ts';

/**
 * Returns a check that throws {@link DatabaseUnavailable} if `path` or a companion has been moved,
 * deleted or replaced since this call: SQLite would not notice, and lose writes to a deleted file.
 */
export function createIdentityCheck(path: string): () => void {
  if (path === ':memory:') return () => {};
  const opened = [path, ...companionsOf(path)].map((file) => ({
    file,
    identity: identityOf(file),
  }));
  return () => {
    const lost = opened.find(({ file, identity }) => identityOf(file) !== identity);
    if (lost) throw new DatabaseUnavailable(`${lost.file} has been moved, deleted or replaced`);
  };
}

/** Returns the paths of the log and its index for the database to which `path` resolves. */
export function companionsOf(path: string): readonly [log: string, index: string] {
  const file = identityOf(path) ? realpathSync(path) : path;
  return [`${file}-wal`, `${file}-shm`];
}

/** Returns the companions of the database at `path`, and the path of its rollback journal. */
export function auxiliaryPaths(path: string): readonly string[] {
  const [log, index] = companionsOf(path);
  return [log, index, log.replace(/wal$/, 'journal')];
}

/** Resolves with the sizes of the database at `path` and of its log in bytes, 0 if missing. */
export async function fileSizes(path: string): Promise<{ main: number; wal: number }> {
  const [main = 0, wal = 0] = await Promise.all([path, companionsOf(path)[0]].map(sizeOf));
  return { main, wal };
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

/** Returns a text that identifies the file to which `path` resolves; undefined if none is found. */
export function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
