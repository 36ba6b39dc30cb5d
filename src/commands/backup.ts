// The commands that copy a database file as it is: away from a running service, and back.
import { backUp } from '../storage/backup.ts';
import { restoreFile } from '../storage/restore.ts';
import { createProgress, type Screen } from './progress.ts';

const UNIT = { unit: ' KiB' };

/**
 * Writes what the database file `db` holds at this moment to the file `target`, beside whoever uses it; resolves with a line
 * that says so. Rejects with {@link import('../storage/database.ts').DatabaseUnusable}; there is no `target` then.
 */
export async function backup(db: string, target: string, screen: Screen): Promise<string> {
  await backUp(db, target, createProgress(screen, 'backed up', UNIT));
  return `${target} holds what ${db} held`;
}

/**
 * Puts the backup in the place of the database file `db`, if there is one with `force` alone; resolves with a line that says
 * what became of that. Rejects with {@link import('../storage/database.ts').DatabaseUnusable}; all is as it was then.
 */
export async function restore(from: string, db: string, force: boolean, screen: Screen): Promise<string> {
  const kept = await restoreFile(from, db, force, createProgress(screen, 'restored', UNIT));
  return `${db} holds what ${from} held${kept === undefined ? '' : `; what was there is ${kept}`}`;
}
