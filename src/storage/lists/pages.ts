// Reads the pages of lists. Requests that arrive while a page is being read share one statement,
// because a round trip to the engine costs as much as a page.
import type { Resource } from '../../resources/resource.ts';
import { BATCH_LIMITS } from '../batches/backlog-limit.ts';
import { Batcher, type BatchMeter } from '../batches/batcher.ts';
import { AnswerTooLarge, type Database, type Row } from '../database.ts';
import { NEVER } from '../records/condition.ts';
import {
  isSlow,
  MAX_PAGE_BYTES,
  type PageRequest,
  type Shape,
  shapeOf,
  valuesIn,
} from './request.ts';
import { SlowLane } from './slow-reads.ts';
import { listSql } from './sql.ts';

/** A page, which is read only if the client does not know the state of the database. */
export interface Page {
  /** The entity tag of every list: it changes with every change in the database. */
  readonly tag: string;
  /**
   * The records, separated as `asLines` asks for; the bytes of a page larger than
   * {@link MAX_PAGE_BYTES}; undefined if the tag was among the known ones.
   */
  readonly items: string | Buffer | undefined;
  /** The number of records in the whole list, if there are `items`. */
  readonly total: number;
  /** The least and the greatest key, where lists are read by keys. */
  readonly keys?: PageKeys;
  /** Whether the search index lacked the last change. */
  readonly isStale?: boolean;
}

/** The keys at the ends of a page; undefined where no record lies beyond. */
export interface PageKeys {
  readonly low: number | undefined;
  readonly high: number | undefined;
}

/** The limits of a batch, all of which is in memory at once; characters are estimated. */
export const PAGE_BATCH_LIMITS = { pages: 16, records: 256, characters: 1_048_576 };

/** Pads a batch: a page without records. */
const NO_PAGE: PageRequest = { limit: 0 };

/** One per reading connection of SQLite, so that a small page need not wait for a large one. */
const CONCURRENT_BATCHES = 2;

/** How many statements are kept, because requests can have hundreds of shapes. */
const MAX_STATEMENTS = 100;

/** Resolves with a page, or with undefined if the record that the list belongs to is missing. */
type ReadPage = (request: PageRequest) => Promise<Page | undefined>;

/** A request, and the JSON text of its shape. */
interface Item {
  readonly request: PageRequest;
  readonly shape: Shape;
  readonly name: string;
}

/**
 * Returns a function that reads pages of `resource` from `database`; `meter` observes the batches.
 * Pages whose time grows with the data run in `lane`.
 */
export function createPages(
  resource: Resource,
  database: Database,
  meter?: BatchMeter,
  lane = new SlowLane(meter),
): ReadPage {
  const reader = new PageReader(resource, database);
  // Until the size of the records is known, each page is read alone.
  const limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };
  const common = {
    size: ({ request }: Item) => request.limit,
    check: ({ request }: Item) => request.check?.(),
    meter,
  };
  const quick = new Batcher<Item, Page | undefined>({
    ...common,
    run: (items) => reader.read(items, limits),
    concurrency: CONCURRENT_BATCHES,
    limits,
  });
  // One at a time, so that the other connection is left to small pages.
  const large = new Batcher<Item, Page | undefined>({
    ...common,
    run: (items) => reader.read(items),
    limits: { ...BATCH_LIMITS, batchItems: 1 },
  });
  const readSlowly = async (item: Item) => {
    common.check(item);
    const [page] = await reader.read([item]);
    return page;
  };
  const read = (request: PageRequest, isLarge: boolean) => {
    const shape = shapeOf(request, isLarge);
    const item = { request, shape, name: JSON.stringify(shape) };
    if (isSlow(shape))
      return lane.run(() => readSlowly(item), request.requester, request.deadlineMs);
    return (isLarge ? large : quick).submit(item);
  };
  return async (request) => {
    try {
      return await read(request, false);
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error;
      await request.reserve?.();
      return read(request, true);
    }
  };
}

/** Reads batches of pages of one resource. */
class PageReader {
  readonly #resource: Resource;
  readonly #database: Database;
  readonly #statements = new Map<string, string>();

  constructor(resource: Resource, database: Database) {
    this.#resource = resource;
    this.#database = database;
  }

  /** Resolves with the pages; sets `limits.batchSize` by the size of their records. */
  async read(
    items: readonly Item[],
    limits?: { batchSize: number },
  ): Promise<(Page | undefined)[]> {
    const pages = new Map<Item, Page | undefined>();
    const groups = new Map<string, Item[]>();
    for (const item of items) groups.set(item.name, [...(groups.get(item.name) ?? []), item]);
    const lengths = [...groups.values()].map((group) => this.#readGroup(group, pages));
    const longest = Math.max(...(await Promise.all(lengths)));
    const { records, characters } = PAGE_BATCH_LIMITS;
    // Pages without records say nothing about their size.
    if (limits && longest > 0) limits.batchSize = Math.min(records, characters / longest);
    return items.map((item) => pages.get(item));
  }

  /** Reads pages of one shape into `pages`; resolves with the length of their longest records. */
  async #readGroup(items: readonly Item[], pages: Map<Item, Page | undefined>): Promise<number> {
    // Powers of two, so that there are few statements to prepare.
    const size = 2 ** Math.ceil(Math.log2(items.length));
    const padded = Array.from({ length: size }, (_, index) => items[index]?.request ?? NO_PAGE);
    const isConditional = items.some(({ request: { known = NEVER } }) => known !== NEVER);
    const [first] = items;
    if (!first) return 0;
    const rows = await this.#database.read({
      sql: this.#statement(first, size, isConditional),
      parameter: JSON.stringify(padded.map(valuesIn)),
      isSlow: isSlow(first.shape),
      maxBytes: first.shape.isLarge ? undefined : MAX_PAGE_BYTES,
    });
    for (const row of rows) {
      const item = items[Number(row.request)];
      if (item && row.owner_exists) pages.set(item, pageOf(row));
    }
    return Math.max(...rows.map(recordLength));
  }

  #statement({ shape, name }: Item, size: number, isConditional: boolean): string {
    const key = `${name} ${size} ${isConditional}`;
    const known = this.#statements.get(key);
    if (known) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const sql = listSql(this.#resource, shape, size, isConditional);
    this.#statements.set(key, sql);
    return sql;
  }
}

function pageOf(row: Row): Page {
  const { tag, is_current, items, total, low, high, has_lower, has_higher } = row;
  const keyOf = (isThere: Row[string] | undefined, key: Row[string] | undefined) =>
    isThere ? Number(key) : undefined;
  return {
    tag: String(tag),
    items: isText(items) ? items : undefined,
    total: Number(total),
    ...(has_lower === undefined
      ? {}
      : { keys: { low: keyOf(has_lower, low), high: keyOf(has_higher, high) } }),
    ...(is_current ? {} : { isStale: true }),
  };
}

/** Returns the average length of the records of a page, 0 if it has none. */
function recordLength({ items, count }: Row): number {
  return isText(items) && count ? items.length / Number(count) : 0;
}

function isText(items: Row[string] | undefined): items is string | Buffer {
  return typeof items === 'string' || Buffer.isBuffer(items);
}
