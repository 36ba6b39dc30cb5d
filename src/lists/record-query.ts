// The queries of the records of a list, and of their numbers.
import type { BlockKey } from '../list-extension.ts';
import type { Counts } from './blocks.ts';

/** Records of a list, perhaps walked block by block. */
export interface Records {
  readonly from: string;
  /** A FROM clause that gives only the ids. */
  readonly ids: string;
  readonly id: string;
  readonly where: string;
  readonly hasBlocks?: boolean;
}

/** A named query of records. It has the columns of their table, `sort_key` and perhaps `block`. */
export interface RecordQuery {
  readonly name: string;
  readonly sql: string;
  readonly hasBlocks: boolean;
  /** Whether it has only the columns `id` and `sort_key`, so that few records are read. */
  readonly hasIds: boolean;
  /** Whether SQLite sorts the keys. */
  readonly isSorted: boolean;
  /** The SQL of whether it is chosen, unless an earlier one is. */
  readonly isChosen: string;
}

/** Counts of the records that a source finds, in each block of a key. */
export interface KnownCounts extends Counts {
  readonly key: BlockKey | undefined;
  /** The query of their sum. */
  readonly sum: string;
  /** Whether these are all records of the list and no others. */
  readonly isExact: boolean;
}
