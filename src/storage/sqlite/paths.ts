// The paths beside a database: of the files that go with it, and for one that another replaces.
import { existsSync, lstatSync, realpathSync } from 'node:fs';

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
