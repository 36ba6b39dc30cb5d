// Where a database file and its companions are, and whether they still are.
import { realpathSync, statSync } from 'node:fs';
import { DatabaseUnavailable } from './database.ts';

/**
 * Returns a check that throws {@link DatabaseUnavailable} while `path` or one of its companions names another file than
 * now, or none: SQLite would go on without a word, and what is written to a file that was deleted is lost.
 */
export function placeOf(path: string): () => void {
  if (path === ':memory:') return () => {};
  const opened = [path, ...companionsOf(path)].map((file) => ({ file, identity: identityOf(file) }));
  return () => {
    const lost = opened.find(({ file, identity }) => identityOf(file) !== identity);
    if (lost) throw new DatabaseUnavailable(`${lost.file} has been moved, deleted or replaced`);
  };
}

/** Returns where SQLite keeps the log of the database at `path` and the index of the log: beside what a link leads to. */
export function companionsOf(path: string): readonly [log: string, index: string] {
  const file = identityOf(path) ? realpathSync(path) : path;
  return [`${file}-wal`, `${file}-shm`];
}

/** Returns the names that SQLite takes for its own beside the database at `path`: those of its logs and of their index. */
export function ownNamesOf(path: string): readonly string[] {
  const [log, index] = companionsOf(path);
  return [log, index, log.replace(/wal$/, 'journal')];
}

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
