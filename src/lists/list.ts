// Where the records of a list come from in SQL: the source of a filter, or a walk of all.
import type { BlockKey, Filter, Order } from '../list-extension.ts';
import { ownerExistsSql } from '../records/text.ts';
import type { Resource } from '../resources/resource.ts';
import { blocksBy, type Counts, indexBy, TimeBlocks, totalSql, type UsedFilter } from './blocks.ts';
import type { ListParts } from './parts.ts';
import type { Shape } from './request.ts';

/** Records of a list, perhaps walked block by block. */
interface Records {
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
  /** Whether SQLite sorts the keys, and reads only the records of the page. */
  readonly isSorted: boolean;
  /** The SQL of whether it is chosen, unless an earlier one is. */
  readonly isChosen: string;
}

/** Counts of the records that a source finds, in each block of a key. */
interface KnownCounts extends Counts {
  readonly key: BlockKey;
  /** The query of their sum. */
  readonly sum: string;
  /** Whether these are all records of the list and no others. */
  readonly isExact: boolean;
}

/** The query of the number of all records. */
export const EVERYTHING = 'everything';

/** The most records to sort, by the key that finds them: it takes a few ms. Tests change it. */
export const SORT_LIMITS = { id: 16_384, number: 16_384 };

/** The records of the list of one request. */
export class List {
  readonly parts: ListParts;
  readonly resource: Resource;
  readonly shape: Shape;
  readonly order: Order;
  readonly #index: number;
  readonly #suffix: string;
  readonly #key: BlockKey;
  readonly #filters: readonly UsedFilter[];
  readonly #finder: UsedFilter | undefined;
  /** The blocks that filters by time exclude, unless another filter finds the records. */
  readonly blocks: TimeBlocks | undefined;
  readonly #counts: KnownCounts | undefined;
  /** The same records, found by their times, which may exclude more than the finder does. */
  readonly #byTimes: List | undefined;

  /**
   * `index` is that of the request in the parameter of the statement. With `isByTimes`, times find
   * the records, even if another filter can.
   */
  constructor(parts: ListParts, shape: Shape, index: number, isByTimes = false) {
    const { resource, filters, orders } = parts;
    this.parts = parts;
    this.resource = resource;
    this.order = orders[shape.order] ?? {};
    this.shape = shape;
    this.#index = index;
    this.#suffix = isByTimes ? `by_times_${index}` : `${index}`;
    // The key of a single record makes its tag.
    this.#key = this.order.key === 'id' && !shape.isOne ? 'id' : 'number';
    this.#filters = Object.entries(filters)
      .filter(([name]) => shape.filters.includes(name))
      .map(([name, filter]) => ({
        ...filter,
        sql: (path = '') => this.value(`filters.${name}${path}`),
      }));
    const timed = this.#filters.filter(({ time }) => time);
    // What has no condition can only be the source.
    const sources = this.#filters.filter(({ source }) => source);
    const only = sources.find(({ condition }) => !condition);
    this.#finder = isByTimes ? undefined : (only ?? sources[0]);
    if (!this.#finder && timed.length > 0)
      this.blocks = new TimeBlocks(resource, timed, this.#key, this.#suffix);
    this.#counts = this.#findCounts(timed.length);
    const { condition, source } = this.#finder ?? {};
    if (this.order.key && condition && source?.counts && timed.length > 0)
      this.#byTimes = new List(parts, shape, index, true);
  }

  /** The index that finds the records, if one does. */
  get index(): Filter['index'] {
    return this.#finder?.index;
  }

  /** Returns the SQL of a value of the request. */
  value(name: string): string {
    return `?1 ->> '$[${this.#index}].${name}'`;
  }

  /** Returns the records as the finder or the times find them. */
  found(): Records {
    const { table } = this.resource;
    const { source, sql } = this.#finder ?? {};
    if (!source || !sql) return this.#walk(this.blocks?.key);
    const from = `${source.table} CROSS JOIN ${table} ON ${table}.id = ${source.id}`;
    const where = [source.where(sql), ...this.#conditions(source.id, this.#finder)].join(' AND ');
    const readsRecord = [...this.#filters, this.order].some((each) => each.readsRecord);
    return { from, ids: readsRecord ? from : source.table, id: source.id, where };
  }

  /** Returns queries of which one is chosen: records to sort if they are few, or walks in order. */
  each(): readonly RecordQuery[] {
    const { table } = this.resource;
    const found = this.found();
    const key = this.#key === 'id' ? found.id : `${table}.number`;
    const named = (name: string, records: Records, isChosen: string, isSorted = false) => {
      const { from, where } = records;
      const hasBlocks = !isSorted && records.hasBlocks === true;
      const columns = `${table}.*, ${key} AS sort_key${hasBlocks ? ', block' : ''}`;
      const sql = `SELECT ${columns} FROM ${from} WHERE ${where}`;
      return { name: `${name}_${this.#suffix}`, sql, hasBlocks, isSorted, isChosen };
    };
    const most = this.#byTimes?.blocks?.mostRecords();
    const others = (this.#byTimes?.each() ?? []).map((query) => {
      const excludeMore = `(${most}) < (SELECT total FROM ${this.#counts?.sum})`;
      return { ...query, isChosen: `${excludeMore} AND ${query.isChosen}` };
    });
    const areFew = this.#areFew();
    if (!areFew) return [...others, named('listed', found, 'TRUE')];
    const many = this.#walk(this.#key, indexBy(table, this.#key));
    return [...others, named('few', found, areFew, !this.#finder), named('many', many, 'TRUE')];
  }

  /** Returns the SQL of what `sqlOf` returns for the query that is chosen. */
  chosen(sqlOf: (query: RecordQuery) => string): string {
    const queries = this.each();
    if (queries.length === 1) return queries.map(sqlOf).join();
    const cases = queries.map((query) => `WHEN '${query.name}' THEN ${sqlOf(query)}`);
    return `CASE (SELECT query FROM choice_${this.#index}) ${cases.join(' ')} END`;
  }

  /** Returns the named queries: counts, the name of the query that is chosen, and all of these. */
  queries(): string[] {
    const queries = this.order.key ? this.each() : [];
    const counts = this.countQueries();
    const cases = queries.map(({ name, isChosen }) => `WHEN ${isChosen} THEN '${name}'`);
    if (cases.length > 1)
      counts.push(`choice_${this.#index} (query) AS MATERIALIZED (
        SELECT CASE ${cases.join(' ')} END)`);
    return [...counts, ...queries.map(({ name, sql }) => `${name} AS NOT MATERIALIZED (${sql})`)];
  }

  /** Returns the SQL of the number of records in the whole list. */
  total(): string {
    const [filter, second] = this.#filters;
    if (this.#counts?.isExact) return `SELECT total FROM ${this.#counts.sum}`;
    if (filter?.countOthers && !second && !this.resource.owner)
      return `SELECT (SELECT total FROM ${EVERYTHING}) - (${filter.countOthers})`;
    const { ids, where } = this.found();
    const count = `SELECT count(*) FROM ${ids} WHERE ${where}`;
    if (!this.#byTimes) return count;
    const names = this.#byTimes.each().map(({ name }) => `'${name}'`);
    const isByTimes = `(SELECT query FROM choice_${this.#index}) IN (${names.join(', ')})`;
    return `SELECT iif(${isByTimes}, (${this.#byTimes.total()}), (${count}))`;
  }

  /** Returns the counts that lead to the block of any offset; undefined if there are none. */
  counts(): Counts | undefined {
    return this.#counts?.isExact && this.#counts.key === this.#key ? this.#counts : undefined;
  }

  /** Returns the SQL of whether the record that the list belongs to exists. */
  exists(): string {
    const owner = this.value('owner');
    const other = this.parts.counterpart;
    if (!this.shape.isOfCounterpart || !other) return ownerExistsSql(this.resource, owner);
    return `EXISTS (SELECT 1 FROM ${other.table} WHERE id = ${owner})`;
  }

  countQueries(): string[] {
    if (this.blocks) return this.blocks.queries();
    if (!this.#counts || this.#counts.sum === EVERYTHING) return [];
    const sum = `${this.#counts.sum} (total) AS MATERIALIZED (${totalSql(this.#counts)})`;
    return [sum, ...(this.#byTimes?.countQueries() ?? [])];
  }

  /** Returns the SQL of whether to sort what is found; undefined if it is found in order. */
  #areFew(): string | undefined {
    const { key = this.#key, sum } = this.#counts ?? {};
    if (this.#filters.length === 0 || key === this.#key) return undefined;
    if (this.blocks) return `(SELECT total <= ${SORT_LIMITS[key]} AND is_narrow FROM ${sum})`;
    const all = `(SELECT total FROM ${EVERYTHING})`;
    // Sorting reads all tagged notes; walking reads total / tagged notes for each found one.
    return `(SELECT total * total < ${all} * ${this.value('limit')} FROM ${sum})`;
  }

  #findCounts(timed: number): KnownCounts | undefined {
    const { owner, numberBlocks } = this.resource;
    const sum = `counted_${this.#suffix}`;
    if (this.#filters.length === 0) {
      const key = numberBlocks ? this.#key : 'id';
      const table = blocksBy(this.resource, key);
      const where = owner ? `${owner.column} = ${this.value('owner')}` : 'TRUE';
      return { key, table, where, sum: owner ? sum : EVERYTHING, isExact: true };
    }
    const { source: { counts, isCounted = false } = {}, sql } = this.#finder ?? {};
    if (counts && sql) {
      const isExact = isCounted && this.#filters.length === 1;
      return { key: 'id', table: counts.table, where: counts.where(sql), sum, isExact };
    }
    if (!this.blocks) return undefined;
    const { key } = this.blocks;
    const isExact = timed === this.#filters.length;
    return { ...this.blocks.counts(), key, sum: this.blocks.sum, isExact };
  }

  /** Walks the blocks of `key` that may have records of the list; without blocks, all records. */
  #walk(key: BlockKey | undefined, index = ''): Records {
    const { table } = this.resource;
    const id = `${table}.id`;
    const blocks = key && this.blocks?.walk(key);
    const from = blocks ? blocks.from : `${table} ${index}`;
    const conditions = [...(blocks ? [blocks.where] : []), ...this.#conditions(id)];
    const where = conditions.join(' AND ') || 'TRUE';
    return { from, ids: blocks ? from : table, id, where, hasBlocks: blocks !== undefined };
  }

  #conditions(id: string, without?: Filter): string[] {
    const { owner, table } = this.resource;
    const filters = this.#filters.filter((filter) => filter !== without);
    return [
      ...(owner ? [`${table}.${owner.column} = ${this.value('owner')}`] : []),
      ...(this.shape.isOne ? [`${table}.id = ${this.value('id')}`] : []),
      ...filters.flatMap(({ condition, sql }) => condition?.(id, sql) ?? []),
    ];
  }
}
