// The files of a database: the main file, its write-ahead log and the index of the log.
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Returns the paths of the log and its index for the database to which `path` resolves. */
export function companionsOf(path: string): readonly [log: string, index: string] {
  const file = existsSync(path) ? realpathSync(path) : path;
  return [`${file}-wal`, `${file}-shm`];
}

/** Returns the companions of the database at `path`, and the path of its rollback journal. */
export function auxiliaryPaths(path: string): readonly string[] {
  const [log, index] = companionsOf(path);
  return [log, index, log.replace(/wal$/, 'journal')];
}

/** Resolves with the sizes of the database at `path` and of its log in bytes, 0 if missing. */
export async function fileSizes(path: string): Promise<{ main: number; wal: number }> {
  const sizeOf = async (file: string) => (await stat(file).catch(() => ({ size: 0 }))).size;
  return { main: await sizeOf(path), wal: await sizeOf(companionsOf(path)[0]) };
}

/** Whether there is anything at `path`, including a dangling link. */
export function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Returns a path for a database that another one replaces; nothing is there, nor its logs. */
export function freePath(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}.replaced-${number}`;
    if (![name, ...auxiliaryPaths(name)].some(isPresent)) return name;
  }
}
