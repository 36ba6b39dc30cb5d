// Where the records of a list come from in SQL: the source of a filter, or a walk of all.
import type { Resource } from '../../resources/resource.ts';
import { linkOf } from '../../resources/resources.ts';
import { ownerExistsSql } from '../records/text.ts';
import { type Filter, type FilterValue, filtersOf } from './filters.ts';
import type { Shape } from './request.ts';

/** Returns the SQL of an expression, given the name of a value of the request. */
type Value = (name: string) => string;

interface Source {
  readonly from: string;
  /** A FROM clause that gives only the ids. */
  readonly ids: string;
  readonly id: string;
  readonly where: string;
  /** Whether an index has all that sorting needs, so that only records of the page need be read. */
  readonly isSorted?: boolean;
}

/** Counts of the records of a list in each block of ids. */
interface Blocks {
  readonly table: string;
  readonly where: string;
}

/** Sorting an eighth of all records takes as long as walking through all, at most. */
const SORTED_PART = 8;

type UsedFilter = Filter & { readonly sql: FilterValue };

/** The records of the list of one request. */
export class ListSource {
  readonly resource: Resource;
  readonly shape: Shape;
  readonly value: Value;
  readonly #filters: readonly UsedFilter[];
  readonly #finder: UsedFilter | undefined;

  constructor(resource: Resource, shape: Shape, value: Value) {
    this.resource = resource;
    this.shape = shape;
    this.value = value;
    this.#filters = Object.entries(filtersOf(resource))
      .filter(([name]) => shape.filters.includes(name))
      .map(([name, filter]) => ({
        ...filter,
        sql: (path = '') => value(`filters.${name}${path}`),
      }));
    this.#finder = this.#filters.find(({ source }) => source);
  }

  /** Returns the only source, or the first of two. */
  first(): Source {
    const { table } = this.resource;
    const { source, sql } = this.#finder ?? {};
    if (!source || !sql) return this.#walk(table);
    const from = source.range
      ? `${table} INDEXED BY ${source.range.index}`
      : `${source.table} CROSS JOIN ${table} ON ${table}.id = ${source.id}`;
    const where = [source.where(sql), ...this.#conditions(source.id, this.#finder)].join(' AND ');
    const readsRecord = this.#filters.some((filter) => filter.readsRecord);
    const ids = readsRecord ? from : source.table;
    return { from, ids, id: source.id, where, isSorted: source.range !== undefined };
  }

  /** Returns one source, or two of which `isChosen` gives the records: sorted or walked. */
  each(few: string) {
    const { table } = this.resource;
    const source = this.first();
    const { order, isOne } = this.shape;
    // The key of a single record makes its tag.
    const key = order.endsWith('id') && !isOne ? source.id : `${table}.number`;
    if (!this.few()) return [{ ...source, key, isChosen: 'TRUE' }];
    const index = order.endsWith('updated') ? `INDEXED BY ${table}_by_number` : 'NOT INDEXED';
    const walk = this.#walk(`${table} ${index}`);
    return [
      { ...source, key, isChosen: few },
      { ...walk, key, isChosen: `NOT ${few}` },
    ];
  }

  /** Returns the SQL of whether the first source is to be used; undefined if it is the only one. */
  few(): string | undefined {
    const { source, sql } = this.#finder ?? {};
    if (source?.range && sql) return source.range.isLessThan(SORTED_PART, sql);
    const linked = this.linkedBlocks();
    if (!linked || !this.shape.order.endsWith('updated')) return undefined;
    // Sorting reads all linked records; walking reads total / linked records for each found one.
    return `(SELECT total * total < (SELECT total FROM everything) * ${this.value('limit')}
      FROM (${totalSql(linked)}))`;
  }

  /** Returns the SQL of the number of records in the whole list. */
  total(few: string): string {
    const blocks = this.blocks();
    if (blocks) return blocks.where === 'TRUE' ? 'SELECT total FROM everything' : totalSql(blocks);
    const count = ({ ids, where }: Source) => `SELECT count(*) FROM ${ids} WHERE ${where}`;
    const first = this.first();
    const [filter, second] = this.#filters;
    if (filter?.countOthers && !second && !this.resource.owner)
      return `SELECT (SELECT total FROM everything) - (${filter.countOthers})`;
    const { source: { range } = {}, sql } = this.#finder ?? {};
    if (!range || !sql) return count(first);
    if (this.#filters.length > 1)
      return `SELECT iif(${few}, (${count(first)}), (${count(this.#walk(this.resource.table))}))`;
    const others = range.others(sql).map((where) => ` - (${count({ ...first, where })})`);
    return `SELECT iif(${range.isLessThan(2, sql)}, (${count(first)}),
      (SELECT total FROM everything)${others.join('')})`;
  }

  /** Returns the block counts of the list; undefined if none are kept for it. */
  blocks(): Blocks | undefined {
    const { blocks: table, owner } = this.resource;
    if (this.#filters.length > 0)
      return this.#filters.length === 1 && this.#finder?.source?.isCounted
        ? this.linkedBlocks()
        : undefined;
    return { table, where: owner ? `${owner.column} = ${this.value('owner')}` : 'TRUE' };
  }

  /** Returns counts of at least the records that the source finds, if any are kept. */
  linkedBlocks(): Blocks | undefined {
    const { source, sql } = this.#finder ?? {};
    const { counts } = source ?? {};
    return counts && sql && { table: counts.table, where: counts.where(sql) };
  }

  /** Returns the SQL of whether the record that the list belongs to exists. */
  exists(): string {
    const owner = this.value('owner');
    const { table } = (this.shape.isOfLinked && linkOf(this.resource)?.other.resource) || {};
    return table
      ? `EXISTS (SELECT 1 FROM ${table} WHERE id = ${owner})`
      : ownerExistsSql(this.resource, owner);
  }

  #walk(from: string): Source {
    const { table } = this.resource;
    const id = `${table}.id`;
    return { from, ids: table, id, where: this.#conditions(id).join(' AND ') || 'TRUE' };
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
export function totalSql({ table, where }: Blocks): string {
  return `SELECT coalesce(sum(count), 0) AS total FROM ${table} WHERE ${where}`;
}
