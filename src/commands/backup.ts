// The command `backup`: copies a database file while a service may use it.
import { stat } from 'node:fs/promises';
import { relationsIn } from '../pages.ts';
import { differencesIn } from '../schema/differences.ts';
import { isKeptSql } from '../schema/kept-rows.ts';
import type { Source } from '../storage/database.ts';
import { openShared } from './existing.ts';
import { INDEXES } from './indexes.ts';
import { createProgress, kibibytesOf, type OnProgress, type ShowText } from './progress.ts';
import { writeWhole } from './whole-file.ts';

/** Copies the database file `db` to the new file `target`; resolves with a line that says so. */
export async function backup(db: string, target: string, show: ShowText): Promise<string> {
  const progress = createProgress(show, 'backed up', ' KiB');
  await using source = await openShared(db);
  const fault = (await differencesIn(source)).find(({ isFault }) => isFault);
  const write = async (path: string) => {
    await writeSnapshot(source, path, progress);
    await purge(path, fault === undefined);
  };
  await writeWhole(target, { source: db, write });
  const refusal = fault ? `; restore will refuse it: ${fault.text}` : '';
  return `backed up ${db} to ${target}${refusal}`;
}

/**
 * Overwrites what is erased, and its words, which indexes keep until they merge their parts.
 * Without `withRows`, only the words: a foreign trigger could delete what is kept.
 */
async function purge(path: string, withRows: boolean): Promise<void> {
  await using copy = await openShared(path);
  const pragmas = ['journal_mode = OFF', 'synchronous = OFF', 'secure_delete = ON'];
  for (const pragma of pragmas) await copy.read({ sql: `PRAGMA ${pragma}` });
  if (withRows) await purgeRows(copy);
  for (const sql of INDEXES.flatMap(({ purge }) => purge)) await copy.read({ sql });
}

async function purgeRows(copy: Source): Promise<void> {
  for (const relation of (await relationsIn(copy)).toReversed())
    await copy.read({ sql: `DELETE FROM ${relation.table} WHERE NOT (${isKeptSql(relation)})` });
  await copy.read({ sql: 'DELETE FROM erased_records' });
}

/** Writes a database to an empty file. `path` is absolute: SQLite takes `file:...` for a URI. */
export async function writeSnapshot(
  source: Source,
  path: string,
  onProgress: OnProgress,
): Promise<void> {
  const total = await kibibytesOf(source);
  const reportSize = async () => {
    const file = await stat(path).catch(() => undefined);
    // The file may reach its full size before it is complete, so report the total only at the end.
    if (file) onProgress(Math.min(file.size / 1_024, total - 1), total);
  };
  onProgress(0, total);
  const timer = setInterval(reportSize, 100);
  try {
    // The online backup of SQLite would restart whenever another process writes.
    await source.read({ sql: 'VACUUM INTO ?1', parameter: path });
  } finally {
    clearInterval(timer);
  }
  onProgress(total, total);
}
