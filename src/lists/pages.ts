// Reads the pages of lists; requests that arrive while a page is being read share one statement.
import { LRUCache } from 'lru-cache';
import { BATCH_LIMITS, Batcher, type BatchMeter } from '../storage/batcher.ts';
import {
  bytesOf,
  type Database,
  MAX_PAGE_BYTES,
  type Row,
  readLargeRows,
  readReserving,
} from '../storage/database.ts';
import { type Memory, NO_MEMORY } from '../storage/writer.ts';
import type { ListParts } from './parts.ts';
import { type PageKey, type PageRequest, type Shape, shapeOf, valuesIn } from './request.ts';
import { SlowReads } from './slow-reads.ts';
import { listSql } from './sql.ts';

/** A page, which is read only if the client does not know the state of the database. */
export interface Page {
  readonly tag: string;
  /**
   * The records as a text, or the bytes of each if the page is large; undefined if the tag is
   * known. Line breaks separate them if they are lines, or if members are still to be computed,
   * else commas. The texts that a record lacks for these follow it as JSON after a tab.
   */
  readonly items: string | readonly Buffer[] | undefined;
  /** The number of records in the whole list, if there are `items`. */
  readonly total: number;
  /** The keys at the ends of the page; undefined where no record lies beyond. */
  readonly keys?: Readonly<Record<'low' | 'high', PageKey | undefined>>;
  /** The revision of the database that the page is of; undefined if it must not be kept. */
  readonly revision: string | undefined;
}

/** The limits of a batch, all of which is in memory at once; characters are estimated. */
export const PAGE_BATCH_LIMITS = { pages: 16, records: 256, characters: 1_048_576 };

const NO_PAGE: PageRequest = { limit: 0 };

/** One per reading connection of SQLite, so that a small page need not wait for a large one. */
const CONCURRENT_BATCHES = 2;

/** Requests can have hundreds of shapes. */
const MAX_STATEMENTS = 100;

interface Item {
  readonly request: PageRequest;
  readonly shape: Shape;
  readonly name: string;
  page?: Page;
  /** Why the page is not read, as it could not be sent. */
  refusal?: unknown;
}

/** The pages of the lists of one resource. */
export class Pages {
  readonly parts: ListParts;
  readonly #database: Database;
  readonly #memory: Memory;
  readonly #slow: SlowReads;
  readonly #quick: Batcher<Item, Page | undefined>;
  readonly #large: Batcher<Item, Page | undefined>;
  /** Until the size of the records is known, each page is read alone. */
  readonly #limits = { ...BATCH_LIMITS, batchItems: PAGE_BATCH_LIMITS.pages, batchSize: 1 };
  readonly #statements = new LRUCache<string, string, readonly [Shape, number]>({
    max: MAX_STATEMENTS,
    memoMethod: (_name, _old, { context }) => listSql(this.parts, ...context),
  });

  /** `slow` runs the pages whose time grows with the data. */
  constructor(
    parts: ListParts,
    database: Database,
    memory: Memory = NO_MEMORY,
    meter?: BatchMeter,
    slow = new SlowReads(meter),
  ) {
    this.parts = parts;
    this.#database = database;
    this.#memory = memory;
    this.#slow = slow;
    const run = (items: readonly Item[]) => this.#readBatch(items);
    this.#quick = new Batcher({
      run,
      meter,
      size: ({ request }) => request.limit,
      limits: this.#limits,
      concurrency: CONCURRENT_BATCHES,
    });
    // One at a time, so that the other connection is left to small pages.
    this.#large = new Batcher({ run, meter, limits: { ...BATCH_LIMITS, batchItems: 1 } });
  }

  /** Undefined without the owner. Rejects as an index does that cannot catch up in time. */
  async read(request: PageRequest): Promise<Page | undefined> {
    const { call, filters = {} } = request;
    const [index] = Object.keys(filters).flatMap((name) => this.parts.filters[name]?.index ?? []);
    // If a write comes after this, the index may lack it.
    const revision = index && this.#memory.check();
    if (index) await index.catchUp();
    const page = await readReserving(
      (isLarge) => this.#readAs(request, isLarge),
      () => call?.reserveLarge(),
    );
    return index && page ? { ...page, revision } : page;
  }

  async #readAs(request: PageRequest, isLarge: boolean): Promise<Page | undefined> {
    const shape = shapeOf(request, isLarge);
    const item: Item = { request, shape, name: JSON.stringify(shape) };
    const readAlone = async () => (await this.#readBatch([item]))[0];
    const page = await (this.#isSlow(shape)
      ? this.#slow.run(readAlone, request.call)
      : (isLarge ? this.#large : this.#quick).submit(item));
    if (item.refusal !== undefined) throw item.refusal;
    return page;
  }

  #isSlow({ filters, order: name }: Shape): boolean {
    const order = this.parts.orders[name] ?? {};
    const isSlow = (name: string) => this.parts.filters[name]?.isSlow?.(order) ?? true;
    return !order.key || filters.some(isSlow);
  }

  /** Resolves with the pages; limits the next batch by the size of their records. */
  async #readBatch(items: readonly Item[]): Promise<(Page | undefined)[]> {
    const groups = new Map<string, Item[]>();
    for (const item of items)
      try {
        item.request.call?.ensureSendable();
        groups.set(item.name, [...(groups.get(item.name) ?? []), item]);
      } catch (error) {
        item.refusal = error;
      }
    const lengths = [...groups.values()].map((group) => this.#readGroup(group));
    const longest = Math.max(...(await Promise.all(lengths)));
    const { records, characters } = PAGE_BATCH_LIMITS;
    // Pages without records say nothing about their size.
    if (longest > 0) this.#limits.batchSize = Math.min(records, characters / longest);
    return items.map(({ page }) => page);
  }

  /** Resolves with the length of the longest records. */
  async #readGroup(items: readonly Item[]): Promise<number> {
    // Powers of two, so that there are few statements to prepare.
    const size = 2 ** Math.ceil(Math.log2(items.length));
    const padded = Array.from({ length: size }, (_, index) => items[index]?.request ?? NO_PAGE);
    const [first] = items;
    if (!first) return 0;
    const { isLarge } = first.shape;
    const statement = {
      sql: this.#statements.memo(`${first.name} ${size}`, { context: [first.shape, size] }),
      parameter: JSON.stringify(padded.map(valuesIn)),
      isSlow: this.#isSlow(first.shape),
    };
    const revision = this.#memory.check();
    const rows = await (isLarge
      ? readLargeRows(this.#database, statement)
      : this.#database.read({ ...statement, maxBytes: MAX_PAGE_BYTES }));
    // Of a large page, the row of the page precedes those of its records.
    for (const row of isLarge ? rows.slice(0, 1) : rows) {
      const item = items[Number(row.request)];
      if (item && row.owner_exists)
        item.page = pageOf(row, revision, isLarge ? rows.slice(1) : undefined);
    }
    return Math.max(...rows.map(recordLength));
  }
}

function pageOf(row: Row, revision: string | undefined, records?: readonly Row[]): Page {
  const { tag, items, total, low, high, has_lower, has_higher } = row;
  const keyOf = (isThere: Row[string] | undefined, key: Row[string] | undefined) =>
    isThere ? (typeof key === 'string' ? key : Number(key)) : undefined;
  const texts = records ? records.map(bytesOf) : String(items);
  return {
    tag: String(tag),
    items: items === null ? undefined : texts,
    total: Number(total),
    ...(has_lower === undefined
      ? {}
      : { keys: { low: keyOf(has_lower, low), high: keyOf(has_higher, high) } }),
    revision,
  };
}

function recordLength({ items, count }: Row): number {
  return typeof items === 'string' && count ? items.length / Number(count) : 0;
}
