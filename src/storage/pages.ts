// Reads the pages of a table. Requests that arrive while a page is being read share one statement,
// because a round trip to the engine costs as much as a page.
import type { Resource } from '../resources/resource.ts';
import { BATCH_LIMITS } from './backlog-limit.ts';
import { Batcher, type BatchMeter } from './batcher.ts';
import type { Database, Row } from './database.ts';
import { BLOCK_BITS } from './migrations.ts';
import { ownerExistsSql, recordSql } from './record-text.ts';

/**
 * A page: its records as the JSON text of an array, and the number of records in the whole list.
 */
export interface Page {
  readonly items: string;
  readonly total: number;
}

/** A request for a page. */
interface PageWanted {
  readonly limit: number;
  readonly offset: number;
  readonly owner: number | undefined;
  readonly check: (() => void) | undefined;
}

/** From this offset on, the block counters find a page faster than skipping records does. */
export const DEEP_OFFSET = 2_048;

/**
 * The size of a batch, which is in memory as a whole: pages, records, and characters, estimated
 * from the batch before.
 */
export const PAGE_BATCH_LIMITS = { pages: 16, records: 256, characters: 1_048_576 };

/** Pads a batch: a page without records. */
const NO_PAGE: PageWanted = { limit: 0, offset: 0, owner: undefined, check: undefined };

/** As many batches as the database has readers: a page need not wait for a large one before it. */
const LANES = 2;

/** Resolves with a page, or with undefined if the owner is missing. */
type ReadPage = (wanted: PageWanted) => Promise<Page | undefined>;

/**
 * Returns a function that reads pages of `resource` from `database`; `meter` observes the batches.
 */
export function createPages(resource: Resource, database: Database, meter?: BatchMeter): ReadPage {
  const near = createReader(statements(resource, false), database, meter);
  const deep = createReader(statements(resource, true), database, meter);
  return (wanted) => (wanted.offset < DEEP_OFFSET ? near(wanted) : deep(wanted));
}

function createReader(
  statement: (count: number) => string,
  database: Database,
  meter: BatchMeter | undefined,
) {
  // Until the size of the records is known, each page is read alone.
  const limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };

  const batcher = new Batcher<PageWanted, Page | undefined>({
    async run(wanted) {
      // Powers of two, so that there are few statements to prepare.
      const size = 2 ** Math.ceil(Math.log2(wanted.length));
      const padded = Array.from({ length: size }, (_, place) => wanted[place] ?? NO_PAGE);
      const parameter = JSON.stringify(
        padded.map(({ limit, offset, owner }) => [limit, offset, owner ?? 0]),
      );
      const rows = await database.read({ sql: statement(size), parameter });
      const pages = new Map(
        rows.filter((row) => row.owner_exists).map((row) => [row.place, pageOf(row)]),
      );
      const longest = Math.max(
        1,
        ...wanted.map((each, place) => recordLength(each, pages.get(place))),
      );
      limits.batchSize = Math.min(
        PAGE_BATCH_LIMITS.records,
        PAGE_BATCH_LIMITS.characters / longest,
      );
      return wanted.map((_, place) => pages.get(place));
    },
    size: ({ limit }) => limit,
    check: ({ check }) => check?.(),
    lanes: LANES,
    limits,
    meter,
  });
  return (wanted: PageWanted) => batcher.submit(wanted);
}

function pageOf({ items, total }: Row): Page {
  return { items: String(items), total: Number(total) };
}

/** Returns the average length of the records of a page. */
function recordLength({ limit, offset }: PageWanted, page: Page | undefined): number {
  return page ? page.items.length / Math.max(1, Math.min(limit, page.total - offset)) : 0;
}

/** The members of a request in the parameter of the statement. */
const limitOf = (page: string) => `${page} ->> 0`;
const offsetOf = (page: string) => `${page} ->> 1`;
const ownerOf = (page: string) => `${page} ->> 2`;

/**
 * Returns a function that returns the statement that reads `count` pages. Its parameter is a JSON
 * array of as many [limit, offset, owner]; each row has the `place` of its page in that array.
 */
function statements(resource: Resource, deep: boolean): (count: number) => string {
  const { table: name, blocks, owner } = resource;
  const ofOwner = (page: string) => (owner ? `${owner.column} = ${ownerOf(page)}` : 'TRUE');
  const count = `SELECT coalesce(sum(count), 0) AS total FROM ${blocks}`;

  const nearRecords = (page: string) => `
    SELECT * FROM ${name} WHERE ${ofOwner(page)} ORDER BY id LIMIT ${limitOf(page)} OFFSET ${offsetOf(page)}`;

  /** Starts at the block that contains the offset. */
  const deepRecords = (page: string, place: number) => `
    SELECT * FROM ${name} WHERE ${ofOwner(page)} AND id >= (SELECT block << ${BLOCK_BITS} FROM block_${place})
    ORDER BY id LIMIT ${limitOf(page)} OFFSET coalesce((${offsetOf(page)}) - (SELECT before FROM block_${place}), 0)`;

  /** The number of records before each block. */
  const running = (where: string) => `
    SELECT block, count, sum(count) OVER (ORDER BY block) - count AS before FROM ${blocks} WHERE ${where}`;

  /**
   * The first block that ends beyond the offset. SQLite takes `before` from the row of the minimum.
   */
  const blockOf = (page: string, place: number) => `
    block_${place} (block, before) AS MATERIALIZED (
      SELECT min(block), before FROM ${owner ? `(${running(ofOwner(page))})` : 'running'}
      WHERE before + count > ${offsetOf(page)}
    )`;

  /**
   * json_group_array keeps the order of the subquery; an ORDER BY in it would sort the records
   * again.
   */
  const pageAt = (page: string, place: number) => `
    SELECT ${place} AS place,
      ${ownerExistsSql(resource, ownerOf(page))} AS owner_exists,
      (${owner ? `${count} WHERE ${ofOwner(page)}` : 'SELECT total FROM everything'}) AS total,
      (SELECT json_group_array(${recordSql(resource)})
       FROM (${deep ? deepRecords(page, place) : nearRecords(page)}) AS ${name}) AS items`;

  const known = new Map<number, string>();
  return (pages) => {
    const made = known.get(pages);
    if (made) return made;
    const places = Array.from({ length: pages }, (_, place) => `(?1 -> ${place})`);
    const tables = [`everything (total) AS MATERIALIZED (${count})`];
    // Computed once for all pages of a batch, because it reads every block.
    if (deep && !owner) tables.push(`running AS MATERIALIZED (${running('TRUE')})`);
    if (deep) tables.push(...places.map(blockOf));
    const sql = `WITH ${tables.join(',')} ${places.map(pageAt).join(' UNION ALL ')}`;
    known.set(pages, sql);
    return sql;
  };
}
