// Where the records of a list come from in SQL: the source of a filter, or a walk of all.
import type { BlockKey, Filter, Order, SortKey } from '../list-extension.ts';
import { ownerExistsSql } from '../records/text.ts';
import type { Resource } from '../resources/resource.ts';
import { Blocks, blocksBy, type Counts, indexBy, totalSql, type UsedFilter } from './blocks.ts';
import type { ListParts } from './parts.ts';
import type { KnownCounts, RecordQuery, Records } from './record-query.ts';
import type { Shape } from './request.ts';

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
  readonly #key: SortKey;
  readonly #filters: readonly UsedFilter[];
  readonly #times: readonly UsedFilter[];
  readonly #finder: UsedFilter | undefined;
  /** The blocks that filters exclude, unless another filter finds the records. */
  readonly #blocks: Blocks | undefined;
  /** The blocks of ids in which a finder finds records of a time. */
  readonly #foundBlocks: Blocks | undefined;
  readonly #counts: KnownCounts | undefined;
  /** The same records, found by another filter or by their times, which may exclude more. */
  readonly #other: List | undefined;

  /**
   * `index` is that of the request in the parameter of the statement. Of the ways to find the
   * records, `way` takes another than the first one.
   */
  constructor(parts: ListParts, shape: Shape, index: number, way = 0) {
    const { resource, filters, orders } = parts;
    this.parts = parts;
    this.resource = resource;
    this.order = orders[shape.order] ?? {};
    this.shape = shape;
    this.#index = index;
    this.#suffix = way > 0 ? `other_${way}_${index}` : `${index}`;
    // The key of a single record makes its tag.
    this.#key = (shape.isOne ? undefined : this.order.key) ?? 'number';
    this.#filters = Object.entries(filters)
      .filter(([name]) => shape.filters.includes(name))
      .map(([name, filter]) => ({
        ...filter,
        sql: (path = '') => this.value(`filters.${name}${path}`),
      }));
    const times = this.#filters.filter(({ time }) => time);
    this.#times = times;
    // What has no condition can only be the source.
    const sources = this.#filters.filter(({ source }) => source);
    const only = sources.find(({ condition }) => !condition);
    const isRead = ({ source }: Filter) => source?.keys.includes(this.#key) ?? false;
    const inOrder = [...sources.filter(isRead), ...sources.filter((each) => !isRead(each))];
    const ways = only ? [only] : [...inOrder, ...(times.length > 0 ? [undefined] : [])];
    this.#finder = ways[way];
    const counter = this.#filters.find(({ countInBlock, source }) => countInBlock && !source);
    const isOld = times.every(({ time }) => time === 'created');
    const blocks = { resource, times, order: this.#key, suffix: this.#suffix };
    if (!this.#finder && (times.length > 0 || counter))
      this.#blocks = new Blocks({ ...blocks, counter: isOld ? counter : undefined });
    if (this.#finder?.countInBlock && times.length > 0 && this.#filters.length === times.length + 1)
      this.#foundBlocks = new Blocks({
        ...blocks,
        counter: this.#finder,
        suffix: `found_${this.#suffix}`,
        found: this.#foundIn(undefined),
      });
    this.#counts = this.#findCounts(times.length + (counter && isOld ? 1 : 0));
    if (way + 1 < ways.length && this.order.key && this.#counts && !(this.#foundBlocks && isOld))
      this.#other = new List(parts, shape, index, way + 1);
  }

  /** The index that finds the records, if one does. */
  get index(): Filter['index'] {
    return this.#finder?.index;
  }

  /** Returns the SQL of a value of the request. */
  value(name: string): string {
    return `?1 ->> '$[${this.#index}].${name}'`;
  }

  /** Returns the records as the finder or the blocks find them. */
  found(): Records {
    return this.#finder ? this.#foundIn(this.#foundBlocks) : this.#walk(this.#blocks?.key);
  }

  /** Returns the records that the finder finds, perhaps only in some blocks of ids. */
  #foundIn(blocks: Blocks | undefined): Records {
    const { table } = this.resource;
    const { source, sql } = this.#finder ?? {};
    if (!source || !sql) throw new Error('nothing finds the records');
    const { from = source.table, where: inBlocks = [] } = blocks?.around(source) ?? {};
    const joined = `${from} CROSS JOIN ${table} ON ${table}.id = ${source.id}`;
    const conditions = [source.where(sql), ...this.#conditions(source.id, this.#finder)];
    const readsRecord = [...this.#filters, this.order].some((each) => each.readsRecord);
    return {
      from: joined,
      ids: readsRecord ? joined : source.table,
      id: source.id,
      where: [...inBlocks, ...conditions].join(' AND '),
      hasBlocks: blocks !== undefined,
    };
  }

  /** Returns queries of which one is chosen: records to sort if they are few, or walks in order. */
  each(): readonly RecordQuery[] {
    const { table } = this.resource;
    const found = this.found();
    const key = this.#keyOf(found.id);
    const named = (name: string, records: Records, isChosen: string, isSorted = false) => {
      const { from, ids, id, where } = records;
      const hasBlocks = !isSorted && records.hasBlocks === true;
      const hasIds = isSorted || this.#skipsIds(records);
      const columns = `${hasIds ? `${id} AS id` : `${table}.*`}, ${key} AS sort_key`;
      const source = hasIds && this.#key !== 'number' ? ids : from;
      const sql = `SELECT ${columns}${hasBlocks ? ', block' : ''} FROM ${source} WHERE ${where}`;
      return { name: `${name}_${this.#suffix}`, sql, hasBlocks, hasIds, isSorted, isChosen };
    };
    const others = (this.#other?.each() ?? []).map((query) => {
      const excludeMore = `(${this.#other?.most()}) < (${this.most()})`;
      return { ...query, isChosen: `${excludeMore} AND ${query.isChosen}` };
    });
    const areFew = this.#areFew();
    if (!areFew) return [...others, named('listed', found, 'TRUE')];
    const few = named('few', found, areFew, true);
    if (areFew === 'TRUE' || this.#key === 'text') return [...others, few];
    const many = this.#walk(this.#key, indexBy(table, this.#key));
    return [...others, few, named('many', many, 'TRUE')];
  }

  /** Returns the SQL of the key of the record with this id. */
  #keyOf(id: string): string {
    const { text } = this.order;
    if (!text) return this.#key === 'id' ? id : `${this.resource.table}.number`;
    const isRead = this.#finder?.source?.table === text.table;
    return isRead ? `${text.table}.${text.column}` : text.of(id);
  }

  /** Returns the SQL of how many records are read to find those of the list. */
  most(): string {
    const blocks = this.#blocks ?? this.#foundBlocks;
    return blocks ? blocks.mostRecords() : `SELECT total FROM ${this.#counts?.sum}`;
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
    if (filter?.countOthers && !second && !this.resource.owner)
      return `SELECT (SELECT total FROM ${EVERYTHING}) - (${filter.countOthers(filter.sql)})`;
    const { ids, where } = this.found();
    const { table, byId = '' } = this.#finder?.source ?? {};
    const total = this.#counts?.isExact
      ? `SELECT total FROM ${this.#counts.sum}`
      : `SELECT count(*) FROM ${ids} ${ids === table ? byId : ''} WHERE ${where}`;
    if (!this.#other) return total;
    const names = this.#other.each().map(({ name }) => `'${name}'`);
    const isOther = `(SELECT query FROM choice_${this.#index}) IN (${names.join(', ')})`;
    return `SELECT iif(${isOther}, (${this.#other.total()}), (${total}))`;
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
    const blocks = this.#blocks ?? this.#foundBlocks;
    const others = this.#other?.countQueries() ?? [];
    if (blocks) return [...blocks.queries(), ...others];
    if (!this.#counts || this.#counts.sum === EVERYTHING) return [];
    const sum = `${this.#counts.sum} (total) AS MATERIALIZED (${totalSql(this.#counts)})`;
    return [sum, ...others];
  }

  /** Returns the SQL of whether to sort what is found; undefined if it is found in order. */
  #areFew(): string | undefined {
    const { keys = [this.#key] } = this.#finder?.source ?? {};
    if (this.#blocks ? this.#blocks.key === this.#key : keys.includes(this.#key)) return undefined;
    if (this.#key === 'text') return 'TRUE';
    if (!this.#counts) return undefined;
    const { key, sum } = this.#counts;
    if (this.#blocks && this.#times.length > 0 && key)
      return `(SELECT total <= ${SORT_LIMITS[key]} AND is_narrow FROM ${sum})`;
    return this.#key === 'id' ? 'TRUE' : this.#isSparse();
  }

  /** Returns the SQL of whether a walk would read more records, by their numbers, than sorting. */
  #isSparse(): string {
    const { table } = this.resource;
    const { position } = this.shape;
    const isKeyed = position === 'after' || position === 'before';
    const isAscending = (this.order.isDescending ?? false) === (position === 'before');
    const [operator, direction] = isAscending ? ['>', 'ASC'] : ['<', 'DESC'];
    const end = `${this.value('limit')}${isKeyed ? '' : ` + ${this.value('offset')}`}`;
    // The index has the times.
    const readsRecord = this.#filters.some((each) => each.readsRecord && !each.time);
    const columns = readsRecord ? '*' : 'id, created_at, updated_at';
    const walked = `
      SELECT ${columns} FROM ${table} ${indexBy(table, 'number')}
      WHERE ${isKeyed ? `number ${operator} ${this.value('key')}` : 'TRUE'}
      ORDER BY number ${direction} LIMIT (${this.most()})`;
    const where = this.#conditions(`${table}.id`).join(' AND ');
    return `
      (${this.most()}) * 2 < (SELECT total FROM ${EVERYTHING}) AND ${end} >= (
        SELECT count(*) FROM (SELECT 1 FROM (${walked}) AS ${table}
                              WHERE ${where} LIMIT ${end} + 1))`;
  }

  /** Whether the ids of a page are found before its records: an offset skips only these. */
  #skipsIds({ from, ids }: Records): boolean {
    const isDeep = this.shape.position === 'deep' && !this.counts();
    return isDeep && this.#finder !== undefined && this.#key !== 'number' && ids !== from;
  }

  /** `known` is the number of filters whose records the blocks count. */
  #findCounts(known: number): KnownCounts | undefined {
    const { owner, numberBlocks } = this.resource;
    const sum = `counted_${this.#suffix}`;
    if (this.#filters.length === 0) {
      const key = this.#key === 'number' && numberBlocks ? 'number' : 'id';
      const table = blocksBy(this.resource, key);
      const where = owner ? `${owner.column} = ${this.value('owner')}` : 'TRUE';
      return { key, table, where, sum: owner ? sum : EVERYTHING, isExact: true };
    }
    const blocks = this.#foundBlocks;
    if (blocks) return { ...blocks.counts(), key: 'id', sum: blocks.sum, isExact: true };
    const { source: { counts, isCounted = false } = {}, sql } = this.#finder ?? {};
    if (counts && sql) {
      const isExact = isCounted && this.#filters.length === 1;
      const key = counts.isSum ? undefined : 'id';
      return { key, table: counts.table, where: counts.where(sql), sum, isExact };
    }
    if (!this.#blocks) return undefined;
    const { key } = this.#blocks;
    const isExact = known === this.#filters.length;
    return { ...this.#blocks.counts(), key, sum: this.#blocks.sum, isExact };
  }

  /** Walks the blocks of `key` that may have records of the list; without blocks, all records. */
  #walk(key: BlockKey | undefined, index = ''): Records {
    const { table } = this.resource;
    const id = `${table}.id`;
    const blocks = key && this.#blocks?.walk(key);
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
