// Removes the words of earlier texts from a search index. FTS5 only marks them as removed until it
// merges the parts that have them, which may never happen: so in the background, all are merged.
import { type Pace, workInBackground } from '../background.ts';
import type { Core } from '../feature.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';
import type { Searchable } from './steps.ts';

/** How purges work; tests change it. */
export const PURGES = {
  /** The first and shortest pause between two purges, and the longest. */
  firstPauseMs: 10_000,
  maxPauseMs: 86_400_000,
  /** The pause after one that fails, as on a full disk. */
  failedPauseMs: 600_000,
  /** The pause as a multiple of the time of the merges, which write the whole index again. */
  pauseFactor: 1_000,
  /** The pause after a merge as a multiple of its time, so that other writes need not wait. */
  mergePauseFactor: 9,
  /** About how many pages a merge writes. */
  pages: 64,
};

/** Returns the read that tells whether an index has marks, and the kind of writes that merge. */
export function purgeOf({ search: { table } }: Searchable) {
  // In the table of FTS5, row 10 lists the parts, and the marks of removed rows follow 2 ** 53.
  const state = `
    SELECT EXISTS (SELECT 1 FROM ${table}_data WHERE id >= ${2 ** 53}) AS has_marks`;
  // All steps of a write use its parameter.
  const parts = {
    named: `parts AS (
      SELECT hex(block) AS ids FROM ${table}_data WHERE id = 10 AND ?1 IS NOT NULL)`,
    returns: { ids: 'ids' },
    from: 'FROM parts',
  };
  const merge = `INSERT INTO ${table} (${table}, rank) SELECT 'merge', ?1 ->> '$.sent[0][0]'`;
  const steps = { before: parts, merge: { write: merge }, after: parts };
  /** Merges the number of pages in its row; resolves with whether the index has changed. */
  const kind: WriteKind<RowSet, boolean> = {
    steps: () => steps,
    outcomes: (_, { before = [], after = [] }) => [before[0]?.ids !== after[0]?.ids],
    changes: (_, hasMerged) => (hasMerged ? [[table]] : []),
  };
  return { state: { sql: state }, kind };
}

/** Merges the parts of an index whenever it has removed words; the result ends this. */
export function startPurges(
  resource: Searchable,
  core: Pick<Core, 'database' | 'write' | 'takeWork'>,
): () => Promise<void> {
  const { state, kind } = purgeOf(resource);

  async function purge({ isEnding, pause }: Pace): Promise<number> {
    const [row] = await core.database.read(state);
    let hasMore = Boolean(row?.has_marks);
    let totalMs = 0;
    // The first merge of all parts has a negative number of pages. The last one changes nothing.
    for (let pages = -PURGES.pages; hasMore && !isEnding(); pages = PURGES.pages) {
      const startedMs = performance.now();
      hasMore = await core.write(kind, { rows: [[pages]], claims: [[0]] });
      const tookMs = performance.now() - startedMs;
      totalMs += tookMs;
      await pause(tookMs * PURGES.mergePauseFactor);
    }
    return Math.min(Math.max(totalMs * PURGES.pauseFactor, PURGES.firstPauseMs), PURGES.maxPauseMs);
  }

  return workInBackground('purge', core, PURGES, purge).end;
}
