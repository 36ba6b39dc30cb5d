// A table of records: create, read, replace, patch, delete and list, generated from a resource.
// SQLite builds the JSON text of the records, which the service sends as it is.
import type { Resource } from '../../resources/resource.ts';
import { Batcher, type BatchMeter } from '../batches/batcher.ts';
import { detached, type FreshMemory, NO_MEMORY } from '../batches/fresh-memory.ts';
import type { Values, Write } from '../batches/writer.ts';
import { tagSql } from '../changes/numbers.ts';
import type { Database } from '../database.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type Page, Pages } from '../lists/pages.ts';
import { MAX_PAGE_BYTES, type PageRequest } from '../lists/request.ts';
import { SLOW_READ_LIMITS, type SlowReads } from '../lists/slow-reads.ts';
import type { Condition } from './condition.ts';
import { recordSql } from './text.ts';
import { type Created, type CreatedOnce, createKinds, type Once, type Stored } from './writes.ts';

/**
 * The records of one table. `owner` is the id of the record that owns them; a table without owners
 * ignores it. Every call rejects with DatabaseUnavailable or QueueFull when the database cannot
 * serve now.
 */
export interface Table {
  /** Stores records, all or none; resolves with undefined if the owner is missing. */
  create(records: readonly Values[], owner?: number): Promise<Created | undefined>;
  /** As `create`; if a request with this key has been answered, only resolves with its outcome. */
  createOnce(
    records: readonly Values[],
    once: Once,
    owner?: number,
  ): Promise<CreatedOnce | undefined>;
  /** Returns a record that is in memory, else the promise of the record or undefined. */
  read(id: number, owner?: number): Stored | Promise<Stored | undefined>;
  /** Replaces the values of a record; resolves with the new record. */
  replace: Change<Stored>;
  /** As `replace`, but null keeps a value. */
  patch: Change<Stored>;
  /**
   * Deletes a record and everything it owns; resolves with false if there is no such record or it
   * does not satisfy the condition.
   */
  remove(id: number, owner?: number, condition?: Condition): Promise<boolean>;
  /**
   * Resolves with a page, or with undefined if the record that the list belongs to is missing.
   * Rejects with IndexBehind if a search would have to wait too long.
   */
  page(request: PageRequest): Promise<Page | undefined>;
}

/** Resolves with undefined if there is no such record or it does not satisfy the condition. */
type Change<Outcome> = (
  id: number,
  values: Values,
  owner?: number,
  condition?: Condition,
) => Promise<Outcome | undefined>;

/** How often a search is read if others write meanwhile. */
const MAX_READS = 3;

/** What a table works with besides its database. */
export interface TableOptions {
  /** Observe the reads of single records and of pages. */
  readonly meters?: { readonly read: BatchMeter; readonly page: BatchMeter } | undefined;
  /** Catches up before a search. */
  readonly index?: Pick<SearchIndex, 'catchUp'> | undefined;
  /** Keeps records; the writer of the table must use the same. */
  readonly memory?: FreshMemory | undefined;
  /** Runs the slow reads; all tables of a database share one. */
  readonly lane?: SlowReads;
}

/** Returns the table of `resource`, whose writes go through `write`. */
export function createTable(
  resource: Resource,
  database: Database,
  write: Write,
  { meters, index, memory = NO_MEMORY, lane }: TableOptions = {},
): Table {
  const kinds = createKinds(resource, false);
  const conditional = createKinds(resource, true);
  const readRecord = createReads(resource, database, memory, meters?.read);
  const pages = new Pages(resource, database, meters?.page, lane);
  const kindsFor = (condition: Condition) => (condition === null ? kinds : conditional);
  const rowsOf = (records: readonly Values[], owner = 0) => ({
    rows: resource.owner ? records.map((each) => [owner, ...each]) : records,
  });

  return {
    create: (records, owner) => write(kinds.creation, undefined, rowsOf(records, owner)),
    createOnce(records, once, owner) {
      const withKey = records.map((each) => [...each, once.key]);
      return write(kinds.creationOnce, once.key, { ...rowsOf(withKey, owner), once });
    },
    read: (id, owner = 0) => readRecord({ id, owner }),
    replace: (id, values, owner, condition = null) =>
      write(kindsFor(condition).replacement, id, rowsOf([[id, condition, ...values]], owner)),
    patch: (id, values, owner, condition = null) =>
      write(kindsFor(condition).patch, id, rowsOf([[id, condition, ...values]], owner)),
    remove: (id, owner, condition = null) =>
      write(kindsFor(condition).removal, id, rowsOf([[id, condition]], owner)),
    async page(request) {
      if (!index || request.filters?.match === undefined) return pages.read(request);
      const deadlineMs = performance.now() + SLOW_READ_LIMITS.waitMs;
      for (let reads = 1; ; reads += 1) {
        await index.catchUp();
        const page = await pages.read({ ...request, deadlineMs });
        // Otherwise, a write has come in between: words and records may differ.
        const isLast = reads === MAX_READS || performance.now() > deadlineMs;
        if (!page?.isStale || isLast) return page;
      }
    },
  };
}

interface RecordKey {
  readonly id: number;
  readonly owner: number;
}

/** Returns a function that reads single records, from memory or in batches. */
function createReads(
  resource: Resource,
  database: Database,
  memory: FreshMemory,
  meter: BatchMeter | undefined,
) {
  const { table, owner: owned } = resource;
  // SQLite unpacks bare ids faster than arrays.
  const isRead = owned
    ? `${table}.id = sent.value ->> 1 AND ${table}.${owned.column} = sent.value ->> 0`
    : `${table}.id = sent.value`;
  const line = `${tagSql(`${table}.number`)} || ' ' || ${recordSql(resource)}`;
  const sql = `
    SELECT group_concat(CASE WHEN ${table}.id IS NULL THEN '' ELSE ${line} END, char(10)) AS lines
    FROM json_each(?1) AS sent LEFT JOIN ${table} ON ${isRead}`;
  const keyOf = ({ id, owner }: RecordKey) => (owned ? [owner, id] : id);
  /** Returns the beginning of a record's text, as `recordSql` writes it. */
  const beginningOf = ({ id, owner }: RecordKey) =>
    owned ? `{"id":${id},"${owned.column}":${owner},` : `{"id":${id},`;
  const batcher = new Batcher<RecordKey, Stored | undefined>({
    meter,
    async run(keys) {
      const revision = memory.check();
      const parameter = JSON.stringify(keys.map(keyOf));
      // Records that are too large together are read one by one.
      const [row] = await database.read({ sql, parameter, maxBytes: MAX_PAGE_BYTES });
      if (typeof row?.lines !== 'string') throw new Error('the engine returned no records');
      // JSON text contains no raw line feed.
      const lines = row.lines.split('\n');
      const records = keys.map((key, index) => recordIn(lines[index], beginningOf(key)));
      if (revision !== undefined) {
        const kept = keys.map(({ id }, index) => [id, detachedRecord(records[index])] as const);
        memory.keep(revision, table, kept);
      }
      return records;
    },
  });
  return (key: RecordKey): Stored | Promise<Stored | undefined> => {
    const known = memory.find<Stored>(table, key.id);
    const isFound = known && (!owned || known.text.startsWith(beginningOf(key)));
    return isFound ? known : batcher.submit(key);
  };
}

/**
 * Returns the record in a line, or undefined for an empty line. Throws if it is another record:
 * SQLite does not guarantee the order.
 */
function recordIn(line: string | undefined, beginning: string): Stored | undefined {
  if (line === '') return undefined;
  const space = line?.indexOf(' ') ?? -1;
  if (!line?.startsWith(beginning, space + 1))
    throw new Error('the engine returned the records in another order');
  return { tag: line.slice(0, space), text: line.slice(space + 1) };
}

function detachedRecord(record: Stored | undefined): Stored | undefined {
  return record && { tag: detached(record.tag), text: detached(record.text) };
}
