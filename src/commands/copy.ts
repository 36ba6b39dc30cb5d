// The command that copies a database: from one engine to another, or into another file.
import { copyDatabase } from '../storage/copy.ts';
import { DatabaseUnusable } from '../storage/database.ts';
import { openSource, openTarget, type StorageOptions } from '../storage/open.ts';
import { inWords, TABLES } from './collections.ts';
import { createProgress, type Screen } from './progress.ts';

/**
 * Copies what `from` names to what `to` names, telling `screen` how far it is; resolves with a line that says what both hold
 * then. Rejects with {@link DatabaseUnusable}; what has been copied until then stays, and the next call goes on from there.
 */
export async function copy(from: StorageOptions, to: StorageOptions, screen: Screen): Promise<string> {
  const source = await openSource(from);
  try {
    const target = await openTarget(to, 'copy');
    try {
      const progress = { copy: createProgress(screen, 'copied'), check: createProgress(screen, 'compared') };
      const counts = await copyDatabase(source, target, TABLES, (phase, done, total) => progress[phase](done, total));
      return `${from.db} and ${to.db} hold the same: ${inWords(counts)}`;
    } catch (error) {
      throw new DatabaseUnusable(`cannot copy to ${to.db}: ${(error as Error).message}`, { cause: error });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}
