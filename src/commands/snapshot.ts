// Writes a snapshot of a database file. VACUUM INTO reads in one transaction while others write;
// SQLite's online backup would restart whenever another process writes.
import { stat } from 'node:fs/promises';
import { DatabaseDamaged } from '../storage/database.ts';
import { refuseUnfinished } from '../storage/schema/unfinished.ts';
import type { Connection } from '../storage/sqlite/connection.ts';
import { unusable } from '../storage/sqlite/unusable.ts';
import type { OnProgress } from './progress.ts';

/** The interval at which progress is reported. */
const POLL_MS = 100;

/** Opens `path` with `open`. Rejects if that fails, or if an import or copy is unfinished. */
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
 * Writes the current content of `source` to the empty file `path`, and reports progress in KiB. The
 * path must be absolute, because SQLite interprets one that starts with `file:` as a URI. Rejects
 * if `source` is damaged or `path` cannot be written.
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
  const reportSize = async () => {
    const file = await stat(path).catch(() => undefined);
    // The file may reach its full size before it is complete, so report the total only at the end.
    if (file) onProgress(Math.min(file.size / 1_024, total - 1), total);
  };
  onProgress(0, total);
  const timer = setInterval(reportSize, POLL_MS);
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
