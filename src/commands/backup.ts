// The command `backup`: copies a database file while a service may use it.
import { openShared } from '../storage/sqlite/existing.ts';
import { createProgress, type Screen } from './progress.ts';
import { openComplete, writeSnapshot } from './snapshot.ts';
import { writeWhole } from './whole-file.ts';

/**
 * Writes the current content of the database file `db` to the file `target`; resolves with a line
 * that says so. Rejects with DatabaseUnusable, and creates no `target`, if the database cannot be
 * opened, holds an unfinished import or copy, or is damaged, or if `target` exists or cannot be
 * written.
 */
export async function backup(db: string, target: string, screen: Screen): Promise<string> {
  const progress = createProgress(screen, 'backed up', { unit: ' KiB' });
  await using source = await openComplete(db, openShared);
  await writeWhole(target, db, (_file, path) => writeSnapshot(source, path, progress));
  return `backed up ${db} to ${target}`;
}
