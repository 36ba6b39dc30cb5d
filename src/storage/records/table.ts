// The records of a resource, whose JSON text SQLite builds and the service sends as it is.
import type { Resource } from '../../resources/resource.ts';
import { ownLinkOf } from '../../resources/resources.ts';
import type { BatchMeter } from '../batches/batcher.ts';
import { type FreshMemory, NO_MEMORY } from '../batches/fresh-memory.ts';
import type { NewLink, Values, Write } from '../batches/writer.ts';
import type { Database } from '../database.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type Page, Pages } from '../lists/pages.ts';
import type { PageRequest } from '../lists/request.ts';
import { SLOW_READ_LIMITS, type SlowReads } from '../lists/slow-reads.ts';
import { compoundCreation, linkedChange, type MissingEnds, type Once } from './compound-writes.ts';
import type { Condition } from './condition.ts';
import { createReads } from './reads.ts';
import { type Created, recordKinds, type Stored } from './writes.ts';

const MAX_READS = 3;

const NO_KEY = { fingerprint: '' };

/** Then the statements of each write with links see only its rows. */
const ALONE = 0;

/** What a table works with besides its database. */
export interface TableOptions {
  readonly meters?: { readonly read: BatchMeter; readonly page: BatchMeter } | undefined;
  readonly index?: Pick<SearchIndex, 'catchUp'> | undefined;
  /** The writer of the table must use the same. */
  readonly memory?: FreshMemory | undefined;
  readonly lane?: SlowReads;
}

/** The records of one table; `owner` is 0 if none owns them. */
export class Table {
  readonly #write: Write;
  readonly #kinds: ReturnType<typeof kindsOf>;
  readonly #index: TableOptions['index'];
  readonly #readRecord: ReturnType<typeof createReads>;
  readonly #pages: Pages;

  constructor(
    resource: Resource,
    database: Database,
    write: Write,
    { meters, index, memory = NO_MEMORY, lane }: TableOptions = {},
  ) {
    this.#write = write;
    this.#kinds = kindsOf(resource);
    this.#index = index;
    this.#readRecord = createReads(resource, database, memory, meters?.read);
    this.#pages = new Pages(resource, database, meters?.page, lane);
  }

  /** Stores all or none, once for each key; undefined if the owner is missing. */
  create(
    records: readonly Values[],
    owner = 0,
    once?: Once,
    links?: readonly NewLink[],
  ): Promise<Created | MissingEnds | undefined> {
    if (links) {
      const rows = rowsOf(records, owner, once ?? NO_KEY);
      return this.#write(this.#linked.creation, ALONE, { rows, links });
    }
    const { creation, keyedCreation } = this.#kinds;
    const rows = rowsOf(records, owner, once);
    return once
      ? this.#write(keyedCreation, once.key, { rows })
      : this.#write(creation, undefined, { rows });
  }

  read(id: number, owner = 0): Stored | Promise<Stored | undefined> {
    return this.#readRecord({ id, owner });
  }

  /** Replaces links and values, except by null; undefined if no record satisfies the condition. */
  change(
    id: number,
    values: Values,
    owner = 0,
    condition: Condition = null,
    links?: readonly NewLink[],
  ): Promise<Stored | MissingEnds | undefined> {
    const rows = [[owner, id, condition, ...values]];
    if (links) return this.#write(this.#linked.change, ALONE, { rows, links });
    const kind = values.includes(null) ? this.#kinds.patch : this.#kinds.replacement;
    return this.#write(kind, id, { rows });
  }

  /** Deletes a record and all it owns; false if none satisfies the condition. */
  remove(id: number, owner = 0, condition: Condition = null): Promise<boolean> {
    return this.#write(this.#kinds.removal, id, { rows: [[owner, id, condition]] });
  }

  get #linked() {
    const { linked } = this.#kinds;
    if (!linked) throw new Error('the records of this table have no links');
    return linked;
  }

  /** Undefined without the owner. Rejects with IndexBehind if a search would wait too long. */
  async page(request: PageRequest): Promise<Page | undefined> {
    if (!this.#index || request.filters?.match === undefined) return this.#pages.read(request);
    const deadlineMs = performance.now() + SLOW_READ_LIMITS.waitMs;
    for (let reads = 1; ; reads += 1) {
      await this.#index.catchUp();
      const page = await this.#pages.read({ ...request, deadlineMs });
      // Otherwise, a write has come in between: words and records may differ.
      const isLast = reads === MAX_READS || performance.now() > deadlineMs;
      if (!page?.isStale || isLast) return page;
    }
  }
}

function kindsOf(resource: Resource) {
  const link = ownLinkOf(resource);
  return {
    ...recordKinds(resource),
    keyedCreation: compoundCreation(resource),
    linked: link && { creation: compoundCreation(resource, link), change: linkedChange(link) },
  };
}

function rowsOf(records: readonly Values[], owner: number, once?: Partial<Once>): Values[] {
  const { key = null, fingerprint = null } = once ?? {};
  return records.map((values, index) => [owner, key, index === 0 ? fingerprint : null, ...values]);
}
