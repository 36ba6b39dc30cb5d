// Reads the pages of a table. Requests that arrive while a page is being read share one statement,
// because a round trip to the engine costs as much as a page.
import { type Resource, rowColumnsOf } from '../resources/resource.ts';
import { BATCH_LIMITS } from './backlog-limit.ts';
import { Batcher, type BatchMeter } from './batcher.ts';
import { LIST_TAG } from './change-numbers.ts';
import { type Condition, NEVER, satisfiesSql } from './condition.ts';
import type { Database, Row } from './database.ts';
import { ownerExistsSql, recordSql } from './record-text.ts';
import { BLOCK_BITS } from './steps.ts';

/** A page, which is read only if the client does not know the state of the database. */
export interface Page {
  /** The entity tag of every list: it changes with every change in the database. */
  readonly tag: string;
  /** The JSON array of the records; undefined if the tag was among the known ones. */
  readonly items: string | undefined;
  /** The number of records in the whole list, if there are `items`. */
  readonly total: number;
}

/** The position of a page in a list. */
export interface PageRequest {
  /** The largest number of records. */
  readonly limit: number;
  /** How many records precede the page. */
  readonly offset: number;
  /** The id of the record that owns the records of the list; a table without owners ignores it. */
  readonly owner?: number | undefined;
  /** The tags that the client knows. */
  readonly known?: Condition;
  /** Called right before the page is read; if it throws, the call rejects. */
  readonly check?: (() => void) | undefined;
}

/** From this offset on, the block counters find a page faster than skipping records does. */
export const DEEP_OFFSET = 2_048;

/** The limits of a batch, all of which is in memory at once; characters are estimated. */
export const PAGE_BATCH_LIMITS = { pages: 16, records: 256, characters: 1_048_576 };

/** Pads a batch: a page without records. */
const NO_PAGE: PageRequest = { limit: 0, offset: 0 };

/** One per reading connection of SQLite, so that a small page need not wait for a large one. */
const CONCURRENT_BATCHES = 2;

/** Resolves with a page, or with undefined if the owner is missing. */
type ReadPage = (request: PageRequest) => Promise<Page | undefined>;

/**
 * Returns a function that reads pages of `resource` from `database`; `meter` observes the batches.
 */
export function createPages(resource: Resource, database: Database, meter?: BatchMeter): ReadPage {
  const near = createReader(cached(createSqlBuilder(resource, false)), database, meter);
  const deep = createReader(cached(createSqlBuilder(resource, true)), database, meter);
  return (request) => (request.offset < DEEP_OFFSET ? near(request) : deep(request));
}

function createReader(
  buildSql: SqlBuilder,
  database: Database,
  meter: BatchMeter | undefined,
): ReadPage {
  // Until the size of the records is known, each page is read alone.
  const limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };

  const batcher = new Batcher<PageRequest, Page | undefined>({
    async run(requests) {
      // Powers of two, so that there are few statements to prepare.
      const size = 2 ** Math.ceil(Math.log2(requests.length));
      const padded = Array.from({ length: size }, (_, index) => requests[index] ?? NO_PAGE);
      const parameter = JSON.stringify(
        padded.map(({ limit, offset, owner = 0, known = NEVER }) => [limit, offset, owner, known]),
      );
      const isConditional = requests.some(({ known = NEVER }) => known !== NEVER);
      const rows = await database.read({ sql: buildSql(size, isConditional), parameter });
      const found = new Map(
        rows.filter((row) => row.owner_exists).map((row) => [row.request, pageOf(row)]),
      );
      const pages = requests.map((_, index) => found.get(index));
      const lengths = requests.map((request, index) => recordLength(request, pages[index]));
      const { records, characters } = PAGE_BATCH_LIMITS;
      const longest = Math.max(...lengths);
      // Pages without records say nothing about their size.
      if (longest > 0) limits.batchSize = Math.min(records, characters / longest);
      return pages;
    },
    size: ({ limit }) => limit,
    check: ({ check }) => check?.(),
    concurrency: CONCURRENT_BATCHES,
    limits,
    meter,
  });
  return (request) => batcher.submit(request);
}

function pageOf({ tag, items, total }: Row): Page {
  return {
    tag: String(tag),
    items: items === null ? undefined : String(items),
    total: Number(total),
  };
}

/** Returns the average length of the records of a page, 0 if it has none. */
function recordLength({ limit, offset }: PageRequest, page: Page | undefined): number {
  const count = page ? Math.min(limit, page.total - offset) : 0;
  return page?.items && count > 0 ? page.items.length / count : 0;
}

/** The members of a request, given the SQL of the request. */
const limitOf = (request: string) => `${request} ->> 0`;
const offsetOf = (request: string) => `${request} ->> 1`;
const ownerOf = (request: string) => `${request} ->> 2`;
const knownOf = (request: string) => `(${request} ->> 3)`;

/** Returns the SQL of the result of a query for a request. */
type Evaluate = (request: string, query: string) => string;

const always: Evaluate = (_, query) => `(${query})`;

/** Returns the SQL of a query that is evaluated only if the client does not know the state. */
function unlessKnown(request: string, query: string): string {
  return `iif(${satisfiesSql(knownOf(request), '(SELECT tag FROM state)')}, NULL, (${query}))`;
}

/** Returns the SQL of each block with the number of records before it. */
function runningSql(blocks: string, where: string): string {
  return `
    SELECT block, count, sum(count) OVER (ORDER BY block) - count AS before
    FROM ${blocks} WHERE ${where}`;
}

/**
 * Builds the SQL for `count` pages. Its parameter is a JSON array of `count` requests [limit,
 * offset, owner, known tags]; the tags count only if it is conditional. Each row is a page; its
 * column `request` holds the index of the request.
 */
type SqlBuilder = (count: number, isConditional: boolean) => string;

function createSqlBuilder(resource: Resource, deep: boolean): SqlBuilder {
  const { table, blocks, owner } = resource;
  const ofOwner = (request: string) => (owner ? `${owner.column} = ${ownerOf(request)}` : 'TRUE');
  const columns = rowColumnsOf(resource).join(', ');
  const total = `SELECT coalesce(sum(count), 0) AS total FROM ${blocks}`;

  const nearRecords = (request: string) => `
    SELECT ${columns} FROM ${table} WHERE ${ofOwner(request)}
    ORDER BY id LIMIT ${limitOf(request)} OFFSET ${offsetOf(request)}`;

  /** Starts at the block that contains the offset. */
  const deepRecords = (request: string, index: number) => `
    SELECT ${columns} FROM ${table} WHERE ${ofOwner(request)}
      AND id >= (SELECT block << ${BLOCK_BITS} FROM block_${index})
    ORDER BY id LIMIT ${limitOf(request)}
    OFFSET coalesce((${offsetOf(request)}) - (SELECT before FROM block_${index}), 0)`;

  /**
   * The first block that ends beyond the offset. SQLite takes `before` from the row of the minimum.
   */
  const blockOf = (request: string, index: number) => `
    block_${index} (block, before) AS MATERIALIZED (
      SELECT min(block), before
      FROM ${owner ? `(${runningSql(blocks, ofOwner(request))})` : 'running'}
      WHERE before + count > ${offsetOf(request)}
    )`;

  const totalSql = (request: string) =>
    owner ? `${total} WHERE ${ofOwner(request)}` : 'SELECT total FROM everything';

  /** json_group_array keeps the order of the subquery; an ORDER BY argument would sort again. */
  const itemsSql = (request: string, index: number) => `
    SELECT json_group_array(${recordSql(resource)})
    FROM (${deep ? deepRecords(request, index) : nearRecords(request)}) AS ${table}`;

  const pageSql = (request: string, index: number, evaluate: Evaluate) => `
    SELECT ${index} AS request, (SELECT tag FROM state) AS tag,
      ${ownerExistsSql(resource, ownerOf(request))} AS owner_exists,
      ${evaluate(request, totalSql(request))} AS total,
      ${evaluate(request, itemsSql(request, index))} AS items`;

  return (count, isConditional) => {
    const requests = Array.from({ length: count }, (_, index) => `(?1 -> ${index})`);
    const tables = [
      `state (tag) AS MATERIALIZED (SELECT ${LIST_TAG})`,
      `everything (total) AS MATERIALIZED (${total})`,
    ];
    // Computed once for all pages of a batch, because it reads every block.
    if (deep && !owner) tables.push(`running AS MATERIALIZED (${runningSql(blocks, 'TRUE')})`);
    if (deep) tables.push(...requests.map(blockOf));
    const evaluate = isConditional ? unlessKnown : always;
    const pages = requests.map((request, index) => pageSql(request, index, evaluate));
    return `WITH ${tables.join(',')} ${pages.join(' UNION ALL ')}`;
  };
}

/** Returns a builder that builds each SQL once. */
function cached(build: SqlBuilder): SqlBuilder {
  const built = new Map<string, string>();
  return (count, isConditional) => {
    const name = `${count} ${isConditional}`;
    const sql = built.get(name) ?? build(count, isConditional);
    built.set(name, sql);
    return sql;
  };
}
