// Where the records of a list come from in SQL: the source of a filter, or a walk of all.
import { counterpartOf } from '../../resources/note-tags.ts';
import { BLOCK_BITS, type Resource } from '../../resources/resource.ts';
import { ownerExistsSql } from '../records/text.ts';
import { type Filter, type FilterValue, filtersOf } from './filters.ts';
import type { Shape } from './request.ts';

/** The column that orders a list. */
type Key = 'id' | 'number';

interface Source {
  readonly from: string;
  /** A FROM clause that gives only the ids. */
  readonly ids: string;
  readonly id: string;
  readonly where: string;
  /** The SQL of the block of a record, if the records are walked block by block. */
  readonly block?: string | undefined;
}

/** A source of the records of a page, in the order of `key`. */
export interface PageSource extends Source {
  readonly key: string;
  /** The SQL of whether this source gives the records. */
  readonly isChosen: string;
  /** Whether SQLite sorts the keys, and reads only the records of the page. */
  readonly isSorted: boolean;
}

/** Counts of the records that a source finds, in each block of a key. */
interface Blocks {
  readonly key: Key;
  readonly table: string;
  readonly where: string;
  /** The table of their sum. */
  readonly sum: string;
  /** Whether these are all records of the list and no others. */
  readonly isExact: boolean;
}

/** The table of the number of all records. */
export const EVERYTHING = 'everything';

/** The most records to sort, by the key that finds them: it takes a few ms. Tests change it. */
export const SORT_LIMITS = { id: 16_384, number: 16_384 };

/** The greatest integer of SQLite: another program may have stored any time. */
const MAX_INTEGER = '9223372036854775807';

type UsedFilter = Filter & { readonly sql: FilterValue };

/** The records of the list of one request. */
export class ListSource {
  readonly resource: Resource;
  readonly shape: Shape;
  readonly #index: number;
  readonly #key: Key;
  readonly #filters: readonly UsedFilter[];
  readonly #finder: UsedFilter | undefined;
  /** The filters whose bounds exclude whole blocks; none if another filter finds the records. */
  readonly #bounded: readonly UsedFilter[];
  /** Counts of the records that the first source finds, if any are kept. */
  readonly #counts: Blocks | undefined;
  /** The same records, found by their times, which may exclude more than the finder does. */
  readonly #byTimes: ListSource | undefined;
  readonly #isChosen: string;

  /**
   * `index` is that of the request in the parameter of the statement, `ifByTimes` the SQL of
   * whether times find the records, even if another filter can.
   */
  constructor(resource: Resource, shape: Shape, index: number, ifByTimes?: string) {
    this.resource = resource;
    this.shape = shape;
    this.#index = index;
    // The key of a single record makes its tag.
    this.#key = shape.order.endsWith('id') && !shape.isOne ? 'id' : 'number';
    this.#filters = Object.entries(filtersOf(resource))
      .filter(([name]) => shape.filters.includes(name))
      .map(([name, filter]) => ({
        ...filter,
        sql: (path = '') => this.value(`filters.${name}${path}`),
      }));
    const bounded = this.#filters.filter(({ bounds }) => bounds);
    this.#finder = ifByTimes ? undefined : this.#filters.find(({ source }) => source);
    this.#bounded = this.#finder ? [] : bounded;
    this.#counts = this.#findCounts();
    const { condition, source } = this.#finder ?? {};
    const choice = `(SELECT is_by_times FROM choice_${index})`;
    if (condition && source?.counts && bounded.length > 0)
      this.#byTimes = new ListSource(resource, shape, index, choice);
    this.#isChosen = ifByTimes ?? (this.#byTimes ? `NOT ${choice}` : 'TRUE');
  }

  /** Returns the SQL of a value of the request. */
  value(name: string): string {
    return `(?1 ->> '$[${this.#index}].${name}')`;
  }

  /** Returns the only source, or the first of two. */
  first(): Source {
    const { table } = this.resource;
    const { source, sql } = this.#finder ?? {};
    if (!source || !sql) return this.#walk(this.#boundedKey);
    const from = `${source.table} CROSS JOIN ${table} ON ${table}.id = ${source.id}`;
    const where = [source.where(sql), ...this.#conditions(source.id, this.#finder)].join(' AND ');
    const readsRecord = this.#filters.some((filter) => filter.readsRecord);
    return { from, ids: readsRecord ? from : source.table, id: source.id, where };
  }

  /** Returns sources of which one is chosen: records to sort if they are few, or walks in order. */
  each(): readonly PageSource[] {
    const first = this.first();
    const key = this.#key === 'id' ? first.id : `${this.resource.table}.number`;
    const isChosen = this.#isChosen;
    const others = this.#byTimes?.each() ?? [];
    const few = this.#few();
    if (!few) return [{ ...first, key, isChosen, isSorted: false }, ...others];
    const [isFew, isMany] = [`(${isChosen} AND ${few})`, `(${isChosen} AND NOT ${few})`];
    const walk = this.#walk(this.#key, indexBy(this.resource.table, this.#key));
    return [
      { ...first, block: undefined, key, isChosen: isFew, isSorted: !this.#finder },
      { ...walk, key, isChosen: isMany, isSorted: false },
      ...others,
    ];
  }

  /** Returns the table of the sum of the counts; none without counts, or if it is EVERYTHING. */
  tables(): string[] {
    const counts = this.#counts;
    if (!counts || counts.sum === EVERYTHING) return [];
    const byKey = totalSql(counts);
    const own = `${counts.sum} (total) AS MATERIALIZED (${byKey})`;
    if (this.#byTimes) {
      const isByTimes = `(${this.#byTimes.#boundedSql()}) < (SELECT total FROM ${counts.sum})`;
      const choice = `choice_${this.#index} (is_by_times) AS MATERIALIZED (SELECT ${isByTimes})`;
      return [own, choice, ...this.#byTimes.tables()];
    }
    if (this.#bounded.length < 2) return [own];
    const byOrder = totalSql({ table: this.#countBounded(this.#key), where: 'TRUE' });
    const isNarrow = `${this.#partlyInSql(counts.key)} < ${this.#partlyInSql(this.#key)}`;
    return [
      `${counts.sum} (total, is_narrow) AS MATERIALIZED (
        SELECT iif(is_narrow, (${byKey}), (${byOrder})), is_narrow
        FROM (SELECT ${isNarrow} AS is_narrow))`,
    ];
  }

  /** Returns the SQL of the number of records in the whole list. */
  total(): string {
    const [filter, second] = this.#filters;
    if (this.#counts?.isExact) return `SELECT total FROM ${this.#counts.sum}`;
    if (filter?.countOthers && !second && !this.resource.owner)
      return `SELECT (SELECT total FROM ${EVERYTHING}) - (${filter.countOthers})`;
    const { ids, where } = this.first();
    const count = `SELECT count(*) FROM ${ids} WHERE ${where}`;
    if (!this.#byTimes) return count;
    return `SELECT iif(${this.#isChosen}, (${count}), (${this.#byTimes.total()}))`;
  }

  /** Returns the counts that lead to the block of any offset; undefined if there are none. */
  blocks(): Blocks | undefined {
    return this.#counts?.isExact && this.#counts.key === this.#key ? this.#counts : undefined;
  }

  /** Returns the SQL of whether the record that the list belongs to exists. */
  exists(): string {
    const owner = this.value('owner');
    const { table } = (this.shape.isOfCounterpart && counterpartOf(this.resource)) || {};
    return table
      ? `EXISTS (SELECT 1 FROM ${table} WHERE id = ${owner})`
      : ownerExistsSql(this.resource, owner);
  }

  /** The key in whose blocks the filtered times differ least; of two, not the key of the order. */
  get #boundedKey(): Key | undefined {
    const keys = this.#bounded.map(({ bounds }) => bounds?.key);
    return keys.find((key) => key !== this.#key) ?? keys[0];
  }

  /** Returns the SQL of the number of records in blocks that the bounds do not exclude. */
  #boundedSql(): string {
    const table = blocksBy(this.resource, this.#boundedKey ?? 'id');
    return totalSql({ table, where: `(${this.#isOutside}) IS NOT TRUE` });
  }

  /** Returns the SQL of whether the first of two sources is chosen; undefined if there is one. */
  #few(): string | undefined {
    const { key = this.#key, sum } = this.#counts ?? {};
    if (this.#filters.length === 0 || key === this.#key) return undefined;
    const total = `(SELECT total FROM ${sum})`;
    const isNarrow = this.#bounded.length < 2 ? 'TRUE' : `(SELECT is_narrow FROM ${sum})`;
    if (!this.#finder) return `(${total} <= ${SORT_LIMITS[key]} AND ${isNarrow})`;
    // Sorting reads all tagged notes; walking reads total / tagged notes for each found one.
    return `(${total} * ${total} < (SELECT total FROM ${EVERYTHING}) * ${this.value('limit')})`;
  }

  #findCounts(): Blocks | undefined {
    const { owner, numberBlocks } = this.resource;
    const ownSum = `${this.#bounded.length > 0 ? 'bounded' : 'counted'}_${this.#index}`;
    if (this.#filters.length === 0) {
      const key = numberBlocks ? this.#key : 'id';
      const table = blocksBy(this.resource, key);
      const where = owner ? `${owner.column} = ${this.value('owner')}` : 'TRUE';
      return { key, table, where, sum: owner ? ownSum : EVERYTHING, isExact: true };
    }
    const { source: { counts, isCounted = false } = {}, sql } = this.#finder ?? {};
    if (counts && sql) {
      const isExact = isCounted && this.#filters.length === 1;
      return { key: 'id', table: counts.table, where: counts.where(sql), sum: ownSum, isExact };
    }
    const key = this.#boundedKey;
    const isExact = this.#bounded.length === this.#filters.length;
    return key && { key, table: this.#countBounded(key), where: 'TRUE', sum: ownSum, isExact };
  }

  /** Counts one by one only in blocks that the bounds neither exclude nor include as a whole. */
  #countBounded(key: Key): string {
    const { table } = this.resource;
    const conditions = this.#bounded.map(({ condition, sql }) => condition?.('', sql));
    return `
      (SELECT block, CASE WHEN ${this.#isInside} THEN count
                          WHEN ${this.#isOutside} THEN 0
                          ELSE (SELECT count(*) FROM ${table} ${indexBy(table, key)}
                                WHERE ${isInBlock(table, key)} AND ${conditions.join(' AND ')})
                     END AS count
       FROM ${blocksBy(this.resource, key)})`;
  }

  /** Returns the SQL of the number of records in blocks of which only a part may be wanted. */
  #partlyInSql(key: Key): string {
    return `(SELECT coalesce(sum(count), 0) FROM ${blocksBy(this.resource, key)}
      WHERE (${this.#isInside}) IS NOT TRUE AND (${this.#isOutside}) IS NOT TRUE)`;
  }

  get #isInside(): string {
    return this.#bounded.map(({ bounds, sql }) => bounds?.isInside(sql)).join(' AND ');
  }

  get #isOutside(): string {
    return this.#bounded.map(({ bounds, sql }) => `(${bounds?.isOutside(sql)})`).join(' OR ');
  }

  /** Walks the blocks of `key` that the bounds do not exclude or, without bounds, all records. */
  #walk(key: Key | undefined, index = ''): Source {
    const { table } = this.resource;
    const id = `${table}.id`;
    const where = this.#conditions(id).join(' AND ') || 'TRUE';
    if (!key || !this.#boundedKey) return { from: `${table} ${index}`, ids: table, id, where };
    const blocks = blocksBy(this.resource, key);
    const from = `${blocks} CROSS JOIN ${table} ${indexBy(table, key)} ON ${isInBlock(table, key)}`;
    const isSkipped = key === this.#boundedKey ? this.#isOutside : this.#isApart(key);
    const isWanted = `(${isSkipped}) IS NOT TRUE AND ${where}`;
    return { from, ids: from, id, where: isWanted, block: `${blocks}.block` };
  }

  /** Also skips blocks whose times overlap no block of the other key that may have a match. */
  #isApart(key: Key): string {
    const [name, others]: [string, Key] = key === 'id' ? ['created', 'number'] : ['updated', 'id'];
    const ofOthers = (bound: string) =>
      `(SELECT ${bound} FROM ${blocksBy(this.resource, others)}
        WHERE (${this.#isOutside}) IS NOT TRUE)`;
    return `${this.#isOutside}
      OR ${name}_to < ${ofOthers(`min(coalesce(${name}_from, -${MAX_INTEGER}))`)}
      OR ${name}_from > ${ofOthers(`max(coalesce(${name}_to, ${MAX_INTEGER}))`)}`;
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

/** Returns the SQL of a sum of block counts. */
export function totalSql({ table, where }: Pick<Blocks, 'table' | 'where'>): string {
  return `SELECT coalesce(sum(count), 0) AS total FROM ${table} WHERE ${where}`;
}

function blocksBy({ blocks, numberBlocks = blocks }: Resource, key: Key): string {
  return key === 'id' ? blocks : numberBlocks;
}

function indexBy(table: string, key: Key): string {
  return key === 'id' ? 'NOT INDEXED' : `INDEXED BY ${table}_by_number`;
}

function isInBlock(table: string, key: Key): string {
  const ofRecord = `${table}.${key}`;
  return `${ofRecord} >= block << ${BLOCK_BITS} AND ${ofRecord} < (block + 1) << ${BLOCK_BITS}`;
}
