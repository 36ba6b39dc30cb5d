// What a database file holds at one moment, in another file. VACUUM INTO reads it in one transaction, beside those who write;
// the online backup would begin again whenever another process has written.
import { stat } from 'node:fs/promises';
import { DatabaseDamaged } from './database.ts';
import { openBeside, unusable } from './sqlite.ts';
import type { Connection } from './sqlite-connection.ts';
import { refuseUnfinished } from './unfinished.ts';
import { writeWhole } from './whole-file.ts';

/** How often the size of the growing file is looked at. */
const LOOK_MS = 100;

/** Is told now and then how many KiB of how many have been written. */
export type OnWritten = (done: number, total: number) => void;

/**
 * Writes what the file `path` holds at this moment to the file `target`. Rejects with
 * {@link import('./database.ts').DatabaseUnusable} when it cannot be opened, was left half filled or is damaged, or `target` is
 * there already or cannot be written; nothing is there then that was not before.
 */
export async function backUp(path: string, target: string, onWritten: OnWritten): Promise<void> {
  const source = await openFilled(path, openBeside);
  const write = (_file: unknown, unfinished: string) => writeSnapshot(source, unfinished, onWritten);
  await writeWhole(target, path, write).finally(source.close);
}

/** Opens the database file `path` as `open` does. Rejects as that does, and where the file was left half filled. */
export async function openFilled(path: string, open: (path: string) => Promise<Connection>): Promise<Connection> {
  const source = await open(path);
  try {
    await refuseUnfinished({ read: source.run });
    return source;
  } catch (error) {
    await source.close();
    throw unusable(path, error);
  }
}

/**
 * Writes what `source` holds at this moment to `path`, an empty file. It must be absolute, for SQLite would take one that begins
 * with `file:` for a URI. Rejects as its statements do.
 */
export async function writeSnapshot(source: Connection, path: string, onWritten: OnWritten): Promise<void> {
  const [size] = await source.run({
    sql: `SELECT (page_count - freelist_count) * page_size / 1024 AS kib
          FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  });
  const total = Number(size?.kib);
  const look = async () => {
    const found = await stat(path).catch(() => undefined);
    // The whole is told when it is there: the size is ahead of what has been written.
    if (found) onWritten(Math.min(found.size / 1_024, total - 1), total);
  };
  onWritten(0, total);
  const looking = setInterval(look, LOOK_MS);
  try {
    await source.run({ sql: 'VACUUM INTO ?1', parameter: path });
  } catch (error) {
    if (error instanceof DatabaseDamaged) throw new Error('what should be in it is damaged', { cause: error });
    throw error;
  } finally {
    clearInterval(looking);
  }
  onWritten(total, total);
}
