// The pages of a table: those that are asked for while others are being read travel together, in one statement, for a
// trip to the engine and back costs as much as making a page.
import { BATCH_LIMITS, createBatcher } from './batcher.ts';
import type { Database } from './database.ts';
import { BLOCK_BITS } from './migrations.ts';
import { parentExistsSql, recordSql, type TableShape } from './shape.ts';

/** A page of records: the JSON text of an array, and how many records there are in all. */
export interface Page {
  readonly items: string;
  readonly total: number;
}

/** A page that is asked for, as `page` of a table takes it. */
export interface PageWanted {
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

/** Returns what reads a page from `database`: resolves with it, or with undefined if the parent is missing. */
export function createPages(shape: TableShape, database: Database): (wanted: PageWanted) => Promise<Page | undefined> {
  const nearStatement = statements(shape, false);
  const deepStatement = statements(shape, true);
  // As long as nobody knows how large the records are, each page travels alone.
  const limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };

  async function read(wanted: readonly PageWanted[], statement: (count: number) => string) {
    const pages = new Map<PageWanted, Page>();
    if (wanted.length === 0) return pages;
    // Few sizes, so that there are few statements.
    const size = 2 ** Math.ceil(Math.log2(wanted.length));
    const padded = Array.from({ length: size }, (_, place) => wanted[place] ?? NO_PAGE);
    const parameter = JSON.stringify(padded.map(({ limit, offset, parent }) => [limit, offset, parent ?? 0]));
    for (const { place, parent_exists, items, total } of await database.read({ sql: statement(size), parameter })) {
      const page = wanted[Number(place)];
      if (page && parent_exists) pages.set(page, { items: String(items), total: Number(total) });
    }
    return pages;
  }

  return createBatcher<PageWanted, Page | undefined>({
    async run(wanted) {
      const [near, deep] = await Promise.all([
        read(
          wanted.filter(({ offset }) => offset < DEEP_OFFSET),
          nearStatement,
        ),
        read(
          wanted.filter(({ offset }) => offset >= DEEP_OFFSET),
          deepStatement,
        ),
      ]);
      const longest = Math.max(
        1,
        ...[...near, ...deep].map(
          ([{ limit, offset }, { items, total }]) => items.length / Math.max(1, Math.min(limit, total - offset)),
        ),
      );
      limits.batchSize = Math.min(PAGE_BATCH_LIMITS.records, PAGE_BATCH_LIMITS.characters / longest);
      return wanted.map((each) => near.get(each) ?? deep.get(each));
    },
    size: ({ limit }) => limit,
    check: ({ check }) => check?.(),
    limits,
  });
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

  /** The first block that reaches past the offset, and how many records stand before it. */
  const blockOf = (page: string, place: number) => `
    block_${place} (block, before) AS MATERIALIZED (
      SELECT block, before
      FROM (SELECT block, count, sum(count) OVER (ORDER BY block) - count AS before FROM ${blocks} WHERE ${ofParent(page)})
      WHERE before + count > ${page} ->> 1 ORDER BY block LIMIT 1
    )`;

  const pageAt = (page: string, place: number) => `
    SELECT ${place} AS place,
      ${parentExistsSql(shape, `${page} ->> 2`)} AS parent_exists,
      (${parent ? `${count} WHERE ${ofParent(page)}` : 'SELECT total FROM everything'}) AS total,
      (SELECT json_group_array(${recordSql(shape)} ORDER BY ${name}.id)
       FROM (${deep ? deepRecords(page, place) : nearRecords(page)}) AS ${name}) AS items`;

  const known = new Map<number, string>();
  return (pages) => {
    const made = known.get(pages);
    if (made) return made;
    const places = Array.from({ length: pages }, (_, place) => `(?1 -> ${place})`);
    const tables = [`everything (total) AS MATERIALIZED (${count})`, ...(deep ? places.map(blockOf) : [])];
    const sql = `WITH ${tables.join(',')} ${places.map(pageAt).join(' UNION ALL ')}`;
    known.set(pages, sql);
    return sql;
  };
}
