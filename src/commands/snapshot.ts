// Writes a snapshot of a database file. VACUUM INTO reads in one transaction while others write;
// SQLite's online backup would start again whenever another process has written.
import { stat } from 'node:fs/promises';
import { DatabaseDamaged } from '../storage/database.ts';
import type { Connection } from '../storage/sqlite/connection.ts';
import { unusable } from '../storage/sqlite/unusable.ts';
import { refuseUnfinished } from '../storage/unfinished.ts';
import type { OnProgress } from './progress.ts';

/** How often the size of the growing file is checked. */
const POLL_MS = 100;

/** Opens `path` with `open`. Also rejects if the file holds an unfinished import or copy. */
export async function openComplete(
  path: string,
  open: (path: string) => Promise<Connection>,
): Promise<Connection> {
  const source = await open(path);
  try {
    await refuseUnfinished({ read: (statement) => source.run(statement) });
    return source;
  } catch (error) {
    await source.close();
    throw unusable(path, error);
  }
}

/**
 * Writes the current content of `source` to `path`, an empty file; calls `onProgress` with KiB. The
 * path must be absolute: SQLite would take one that begins with `file:` for a URI. Rejects as the
 * statements do.
 */
export async function writeSnapshot(
  source: Connection,
  path: string,
  onProgress: OnProgress,
): Promise<void> {
  const [size] = await source.run({
    sql: `SELECT (page_count - freelist_count) * page_size / 1024 AS kib
          FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  });
  const total = Number(size?.kib);
  const poll = async () => {
    const found = await stat(path).catch(() => undefined);
    // The size is ahead of what has been written, so the total is reported only at the end.
    if (found) onProgress(Math.min(found.size / 1_024, total - 1), total);
  };
  onProgress(0, total);
  const timer = setInterval(poll, POLL_MS);
  try {
    await source.run({ sql: 'VACUUM INTO ?1', parameter: path });
  } catch (error) {
    if (error instanceof DatabaseDamaged)
      throw new Error('the source is damaged', { cause: error });
    throw error;
  } finally {
    clearInterval(timer);
  }
  onProgress(total, total);
}
