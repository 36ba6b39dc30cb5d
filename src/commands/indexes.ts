// The indexes of records that features keep.
import type { Rows } from '../pages.ts';
import type { Relation } from '../resources/relation.ts';
import type { Resource } from '../resources/resource.ts';
import { WORD_INDEXES } from '../search/word-indexes.ts';
import type { Source, Statement } from '../storage/database.ts';

interface RecordIndex {
  readonly resource: Resource;
  readonly empty: string;
  /** SQL that removes the words of earlier texts, also of those that it still contains. */
  readonly purge: readonly string[];
  /** SQL that says that it contains all changes. */
  readonly finish: readonly string[];
  /** Returns the statement that adds rows, each with all columns of `of`, or of `resource`. */
  insertion(rows: Rows, of?: Relation): Statement;
  /** Resolves with a line for each fault. All reads must be of one snapshot. */
  findFaults(
    source: Source,
    maxFaults: number,
    onShare: (share: number) => void,
  ): Promise<string[]>;
}

/** All indexes, which commands fill, check and rebuild. */
export const INDEXES: readonly RecordIndex[] = [...WORD_INDEXES];
