// The files of a database: the main file, its write-ahead log and the index of the log.
import { existsSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Returns the paths of the log and its index for the database to which `path` resolves. */
export function companionsOf(path: string): readonly [log: string, index: string] {
  const file = existsSync(path) ? realpathSync(path) : path;
  return [`${file}-wal`, `${file}-shm`];
}

/** Resolves with the sizes of the database at `path` and of its log in bytes, 0 if missing. */
export async function fileSizes(path: string): Promise<{ main: number; wal: number }> {
  const sizeOf = async (file: string) => (await stat(file).catch(() => ({ size: 0 }))).size;
  return { main: await sizeOf(path), wal: await sizeOf(companionsOf(path)[0]) };
}
