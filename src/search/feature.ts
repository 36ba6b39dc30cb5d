// The search in texts: its index follows the log of changes.
import type { EarlyFeature } from '../feature.ts';
import { unavailable } from '../http/problem.ts';
import type { Resource } from '../resources/resource.ts';
import type { Database } from '../storage/database.ts';
import { searchInLists } from './in-lists.ts';
import { startPurges } from './purge.ts';
import { IndexBehind, SearchIndex } from './search-index.ts';
import { SEARCHABLE } from './steps.ts';

/** The indexes, and the searches in lists, which wait until their index has caught up. */
export function search(database: Database): EarlyFeature {
  const all = SEARCHABLE.map((each) => [each, new SearchIndex(each, database)] as const);
  const indexes = new Map<Resource, SearchIndex>(all);
  let endPurges: (() => Promise<void>)[] = [];
  return {
    inLists: searchInLists(indexes),
    commits: [...indexes.values()],
    start(core) {
      for (const index of indexes.values()) index.start(core.write);
      endPurges = SEARCHABLE.map((each) => startPurges(each, core));
    },
    toProblem(error) {
      return error instanceof IndexBehind
        ? unavailable('The search index is catching up.', {}, error.retryAfterS)
        : undefined;
    },
    async close() {
      await Promise.all(endPurges.map((end) => end()));
      for (const index of indexes.values()) await index.close();
    },
  };
}
