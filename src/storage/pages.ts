// The pages of a table: those that are asked for while others are being read travel together, in one statement, for a
// trip to the engine and back costs as much as making a page.
import { BATCH_LIMITS, type BatchMeter, createBatcher } from './batcher.ts';
import type { Database, Row } from './database.ts';
import { BLOCK_BITS } from './migrations.ts';
import { parentExistsSql, recordSql, type TableShape } from './shape.ts';

/** A page of records: the JSON text of an array, and how many records there are in all. */
export interface Page {
  readonly items: string;
  readonly total: number;
}

/** A page that is asked for, as `page` of a table takes it. */
interface PageWanted {
  readonly limit: number;
  readonly offset: number;
  readonly parent: number | undefined;
  readonly check: (() => void) | undefined;
}

/** From this offset on the block counts find a page sooner than walking there does. */
export const DEEP_OFFSET = 2_048;

/**
 * How much may travel together: so many pages, records, and characters by the measure of what travelled last. Records may
 * be large, and a batch is in memory as a whole.
 */
export const PAGE_BATCH_LIMITS = { pages: 16, records: 256, characters: 1_048_576 };

/** Fills up a batch: a page without records. */
const NO_PAGE: PageWanted = { limit: 0, offset: 0, parent: undefined, check: undefined };

/** As many batches as the database reads at one time: a page need not wait for a large one before it. */
const LANES = 2;

/** What reads a page: resolves with it, or with undefined if the parent is missing. */
type ReadPage = (wanted: PageWanted) => Promise<Page | undefined>;

/** Returns what reads a page from `database`, measured by `meter`. */
export function createPages(shape: TableShape, database: Database, meter?: BatchMeter): ReadPage {
  const near = createReader(statements(shape, false), database, meter);
  const deep = createReader(statements(shape, true), database, meter);
  return (wanted) => (wanted.offset < DEEP_OFFSET ? near(wanted) : deep(wanted));
}

function createReader(statement: (count: number) => string, database: Database, meter: BatchMeter | undefined) {
  // As long as nobody knows how large the records are, each page travels alone.
  const limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };

  return createBatcher<PageWanted, Page | undefined>({
    async run(wanted) {
      // Few sizes, so that there are few statements.
      const size = 2 ** Math.ceil(Math.log2(wanted.length));
      const padded = Array.from({ length: size }, (_, place) => wanted[place] ?? NO_PAGE);
      const parameter = JSON.stringify(padded.map(({ limit, offset, parent }) => [limit, offset, parent ?? 0]));
      const rows = await database.read({ sql: statement(size), parameter });
      const pages = new Map(rows.filter((row) => row.parent_exists).map((row) => [row.place, pageOf(row)]));
      const longest = Math.max(1, ...wanted.map((each, place) => recordLength(each, pages.get(place))));
      limits.batchSize = Math.min(PAGE_BATCH_LIMITS.records, PAGE_BATCH_LIMITS.characters / longest);
      return wanted.map((_, place) => pages.get(place));
    },
    size: ({ limit }) => limit,
    check: ({ check }) => check?.(),
    lanes: LANES,
    limits,
    meter,
  });
}

function pageOf({ items, total }: Row): Page {
  return { items: String(items), total: Number(total) };
}

/** How long the records of a page are, taken one with another. */
function recordLength({ limit, offset }: PageWanted, page: Page | undefined): number {
  return page ? page.items.length / Math.max(1, Math.min(limit, page.total - offset)) : 0;
}

/**
 * Returns a function that returns the statement that reads `count` pages. Its parameter is a JSON array of as many
 * [limit, offset, parent]; a row has the `place` of its page in that array.
 */
function statements(shape: TableShape, deep: boolean): (count: number) => string {
  const { name, blocks, parent } = shape;
  const ofParent = (page: string) => (parent ? `${parent.column} = ${page} ->> 2` : 'TRUE');
  const count = `SELECT coalesce(sum(count), 0) AS total FROM ${blocks}`;

  const nearRecords = (page: string) => `
    SELECT * FROM ${name} WHERE ${ofParent(page)} ORDER BY id LIMIT ${page} ->> 0 OFFSET ${page} ->> 1`;

  /** Begins at the block that was found. */
  const deepRecords = (page: string, place: number) => `
    SELECT * FROM ${name} WHERE ${ofParent(page)} AND id >= (SELECT block << ${BLOCK_BITS} FROM block_${place})
    ORDER BY id LIMIT ${page} ->> 0 OFFSET coalesce((${page} ->> 1) - (SELECT before FROM block_${place}), 0)`;

  /** How many records stand before each block. */
  const running = (where: string) => `
    SELECT block, count, sum(count) OVER (ORDER BY block) - count AS before FROM ${blocks} WHERE ${where}`;

  /** The first block that reaches past the offset (`before` is of the row with the least block). */
  const blockOf = (page: string, place: number) => `
    block_${place} (block, before) AS MATERIALIZED (
      SELECT min(block), before FROM ${parent ? `(${running(ofParent(page))})` : 'running'}
      WHERE before + count > ${page} ->> 1
    )`;

  /** The array is in the order of what it is made of: to have it sorted once more takes a quarter of the time. */
  const pageAt = (page: string, place: number) => `
    SELECT ${place} AS place,
      ${parentExistsSql(shape, `${page} ->> 2`)} AS parent_exists,
      (${parent ? `${count} WHERE ${ofParent(page)}` : 'SELECT total FROM everything'}) AS total,
      (SELECT json_group_array(${recordSql(shape)})
       FROM (${deep ? deepRecords(page, place) : nearRecords(page)}) AS ${name}) AS items`;

  const known = new Map<number, string>();
  return (pages) => {
    const made = known.get(pages);
    if (made) return made;
    const places = Array.from({ length: pages }, (_, place) => `(?1 -> ${place})`);
    const tables = [`everything (total) AS MATERIALIZED (${count})`];
    // Once for all pages of a batch: there are as many blocks as thousands of records.
    if (deep && !parent) tables.push(`running AS MATERIALIZED (${running('TRUE')})`);
    if (deep) tables.push(...places.map(blockOf));
    const sql = `WITH ${tables.join(',')} ${places.map(pageAt).join(' UNION ALL ')}`;
    known.set(pages, sql);
    return sql;
  };
}
