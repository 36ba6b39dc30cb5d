// Removes the words of earlier texts from a search index. FTS5 only marks them as removed until it
// merges the parts that have them, which may never happen: so in the background, all are merged.
import { setTimeout as wait } from 'node:timers/promises';
import type { Core } from '../feature.ts';
import type { RowSet, WriteKind } from '../storage/writer.ts';
import type { Searchable } from './steps.ts';

/** How purges work; tests change it. */
export const PURGES = {
  minPauseMs: 10_000,
  /** A purge writes the whole index again, so the pause after it is this many times as long. */
  pauseFactor: 100,
  /** How many times as long as a merge the pause after it is, so that nobody waits. */
  mergePauseFactor: 9,
  /** About how many pages a merge writes. */
  pages: 64,
};

/** Returns the read of the state of an index, and the kind of writes that merge its parts. */
export function purgeOf({ search: { table } }: Searchable) {
  // Of the table of FTS5, row 10 lists the parts, and the marks of removed rows follow 2 ** 53.
  const state = `
    SELECT hex(block) AS parts,
      EXISTS (SELECT 1 FROM ${table}_data WHERE id >= ${2 ** 53}) AS has_marks
    FROM ${table}_data WHERE id = 10`;
  const merge = `INSERT INTO ${table} (${table}, rank) SELECT 'merge', ?1 ->> '$[2][0]'`;
  const kind: WriteKind<RowSet, undefined> = {
    statements: { merge: { sql: merge } },
    outcomes: () => [undefined],
    changes: () => [],
  };
  return { state: { sql: state }, kind };
}

/** Merges the parts of an index whenever it has removed words; the result ends this. */
export function startPurges(
  resource: Searchable,
  { database, write }: Pick<Core, 'database' | 'write'>,
): () => Promise<void> {
  const { state, kind } = purgeOf(resource);
  const ending = new AbortController();
  const pause = (ms: number) =>
    wait(ms, undefined, { signal: ending.signal, ref: false }).catch(() => {});

  async function purge(): Promise<void> {
    let [row] = await database.read(state);
    // The first merge of all parts has a negative number of pages. The last one changes nothing.
    for (let pages = row?.has_marks ? -PURGES.pages : 0; pages !== 0; ) {
      const { parts } = row ?? {};
      const startedMs = performance.now();
      await write(kind, 0, { rows: [], extra: [[pages]] });
      [row] = await database.read(state);
      await pause((performance.now() - startedMs) * PURGES.mergePauseFactor);
      pages = row?.parts === parts || ending.signal.aborted ? 0 : PURGES.pages;
    }
  }

  async function purgeAgainAndAgain(): Promise<void> {
    for (let tookMs = 0; !ending.signal.aborted; ) {
      await pause(Math.max(tookMs * PURGES.pauseFactor, PURGES.minPauseMs));
      const startedMs = performance.now();
      // What fails is repeated.
      if (!ending.signal.aborted) await purge().catch(() => {});
      tookMs = performance.now() - startedMs;
    }
  }

  const running = purgeAgainAndAgain();
  return () => {
    ending.abort();
    return running;
  };
}
