// The parts of lists, and how features add some.
import type { Violation } from './http/problem.ts';
import type { Resource } from './resources/resource.ts';

/** A block has 2^BLOCK_BITS ids; triggers count its rows, so that any offset is found at once. */
export const BLOCK_BITS = 10;

/** The columns in whose blocks records are counted. */
export type BlockKey = 'id' | 'number';

/** What pages can begin at: a column of the records, or a text that belongs to each. */
export type SortKey = BlockKey | 'text';

/** The parameters of a request, by their names in the contract. */
export type Parameters = Readonly<Record<string, unknown>>;

/** Returns the SQL of the value of a filter; `path` leads to a part of it, such as `.after`. */
export type FilterValue = (path?: string) => string;

/** A filter: which value it takes from a request, which records pass, what it costs. */
export interface Filter {
  /** Returns undefined if the request does not use the filter. May throw 422. */
  readonly value: (parameters: Parameters) => unknown;
  /** Missing if the filter is always the source. */
  readonly condition?: (id: string, value: FilterValue) => string;
  readonly readsRecord?: boolean;
  /** Set if records pass by a time between two, `.after` and `.before`, that blocks bound. */
  readonly time?: 'created' | 'updated';
  /** A query that counts the records that do not pass, where it is quicker than the opposite. */
  readonly countOthers?: (value: FilterValue) => string;
  /** Returns the SQL of how many records in a row of the table of blocks of ids pass. */
  readonly countInBlock?: (blocks: string, value: FilterValue) => string;
  /** Whether the time of a page grows with the records, as it does if this is missing. */
  readonly isSlow?: (order: Order) => boolean;
  /** A table with the ids of the records that pass. */
  readonly source?: {
    readonly table: string;
    readonly id: string;
    readonly where: (value: FilterValue) => string;
    /** The keys in whose order it can be read. */
    readonly keys: readonly SortKey[];
    /** The clause that makes SQLite read it in the order of ids, where it would take another. */
    readonly byId?: string;
    /** Counts of at least these records in each block of ids, or just their sum. */
    readonly counts?: {
      readonly table: string;
      readonly where: (value: FilterValue) => string;
      readonly isSum?: boolean;
    };
    /** Whether the counts are those of exactly these records. */
    readonly isCounted?: boolean;
  };
  /** Set if the source is an index that follows the records. Links between pages have keys. */
  readonly index?: {
    /** A query of the tag of its state. */
    readonly state: string;
    /** Resolves when it contains all changes before the call. */
    readonly catchUp: () => Promise<void> | undefined;
  };
}

export interface Order {
  /** That at whose values pages begin. */
  readonly key?: SortKey;
  /** Where the texts are, if they are the key. */
  readonly text?: {
    readonly table: string;
    readonly column: string;
    /** Returns the SQL of the text of the record with this id. */
    readonly of: (id: string) => string;
    /** What follows `after` and `before` in the names of parameters. */
    readonly suffix: string;
  };
  /** SQL by which all records are sorted; without a key, pages begin at offsets. */
  readonly score?: string;
  /** Whether the score needs the records, and not only the source. */
  readonly readsRecord?: boolean;
  readonly isDescending?: boolean;
  /** The parameter that makes this order the default, and without which it is refused. */
  readonly impliedBy?: string;
}

/** A member that is computed from texts of each record after the read. */
export interface Computed {
  readonly name: string;
  readonly fields: readonly string[];
  /** Resolves with a JSON text for that of each record; calls `check` after each pause. */
  readonly compute: (
    records: readonly (string | Buffer)[],
    parameters: Parameters,
    check: () => void,
  ) => Promise<readonly string[]>;
}

/** Returns what a feature adds to the lists of a resource, by names. */
export type ListExtension = (resource: Resource) => {
  readonly filters?: Readonly<Record<string, Filter>>;
  readonly orders?: Readonly<Record<string, Order>>;
  /** SQL of members that only `include` adds. Changes of other records can change them. */
  readonly included?: Readonly<Record<string, string>>;
  /** Only one feature gives it; the same holds for the next two. */
  readonly computed?: Computed;
  /** The resource whose records each have a list of this one: tags for notes, notes for tags. */
  readonly counterpart?: Resource;
  /** Returns a parameter that an empty list can be asked for again with, such as `a=b`. */
  readonly alternative?: (parameters: Parameters) => string | undefined;
  /** Checks a rule across parameters. */
  readonly check?: (parameters: Parameters) => Violation | undefined;
};
