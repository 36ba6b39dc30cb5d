// The memory of this process for records and pages.
import type { EarlyFeature } from '../feature.ts';
import type { Freshness } from '../storage/database.ts';
import { FreshMemory } from './fresh-memory.ts';

/** The memory; it keeps up to `maxBytes`, and nothing without `freshness`. */
export function memory(freshness: Freshness | undefined, maxBytes: number): EarlyFeature {
  const memory = new FreshMemory(freshness, maxBytes);
  return {
    memory,
    commits: memory,
    readings: {
      notes_cache_lookups_total: () => ({
        '{result="hit"}': memory.hits,
        '{result="miss"}': memory.misses,
      }),
      notes_cache_bytes: () => memory.bytes,
    },
  };
}
