// The blocks of ids and of numbers, whose counts and bounds of times save reading their records.
import {
  BLOCK_BITS,
  type BlockKey,
  type Filter,
  type FilterValue,
  type SortKey,
} from '../list-extension.ts';
import type { Resource } from '../resources/resource.ts';

/** A filter that a request uses, with the SQL of its value. */
export type UsedFilter = Filter & { readonly sql: FilterValue };

/** A table, or a named query, of the numbers of records in blocks. */
export interface Counts {
  readonly table: string;
  readonly where: string;
}

/** The greatest integer of SQLite: another program may have stored any time. */
const MAX_INTEGER = '9223372036854775807';

/** The condition that a block may have records of the list. */
const IS_CANDIDATE = "verdict <> 'outside'";

/** What is in the blocks of a list. */
interface BlockList {
  readonly resource: Resource;
  readonly times: readonly UsedFilter[];
  /** A filter that knows how many records pass in each block of ids. */
  readonly counter: UsedFilter | undefined;
  /** The key of the list. */
  readonly order: SortKey;
  /** Makes the names of the queries unique. */
  readonly suffix: string;
  /** How the records are found, among which the counter counts. */
  readonly found?: Readonly<Record<'from' | 'id' | 'where', string>>;
}

/** The blocks of a list with filters by time, or with a counter. Named queries judge each. */
export class Blocks {
  readonly #list: BlockList;
  readonly #suffix: string;
  /** The key in whose blocks the filtered times differ least; of two, not the key of the order. */
  readonly key: BlockKey;

  constructor(list: BlockList) {
    this.#list = list;
    this.#suffix = list.suffix;
    const { times, counter, order } = list;
    const keys = times.map(({ time }): BlockKey => (time === 'created' ? 'id' : 'number'));
    const other = keys.find((key) => key !== order) ?? keys[0] ?? 'id';
    this.key = counter ? 'id' : other;
  }

  /** Returns the named queries of the blocks, of their counts, and of the sum of these. */
  queries(): string[] {
    const { times, counter, order, found } = this.#list;
    const keys = new Set([this.key, ...(order === 'text' || found ? [] : [order])]);
    const counted = times.length > 1 && !counter ? [...keys] : [this.key];
    return [
      ...[...keys].map((key) => this.#judge(key)),
      ...counted.map((key) => this.#count(key)),
      `${this.sum} (total, is_narrow) AS MATERIALIZED (${this.#sum(counted)})`,
    ];
  }

  #sum(keys: readonly BlockKey[]): string {
    const totals = keys.map((key) => totalSql(this.counts(key)));
    if (keys.length === 1)
      return `SELECT coalesce(sum(count), 0), TRUE FROM ${this.counts().table}`;
    const partly = keys.map((key) =>
      totalSql({ table: this.#blocks(key), where: "verdict = 'partly'" }),
    );
    return `
      SELECT iif(is_narrow, (${totals.join('), (')})), is_narrow
      FROM (SELECT (${partly.join(') < (')}) AS is_narrow)`;
  }

  /** The query of the number of records, and of whether fewer blocks of `key` are read for it. */
  get sum(): string {
    return `bounded_${this.#suffix}`;
  }

  /** Returns the exact counts in the blocks of a key. */
  counts(key = this.key): Counts {
    return { table: `${key}_counts_${this.#suffix}`, where: 'TRUE' };
  }

  /** Returns the SQL of the number of records in blocks that may have some of the list. */
  mostRecords(): string {
    const count = this.#list.found ? 'passing' : 'count';
    return `SELECT coalesce(sum(${count}), 0) FROM ${this.#blocks(this.key)} WHERE ${IS_CANDIDATE}`;
  }

  /** Returns the FROM clause and conditions that read a source of ids in candidates, in order. */
  around({ table, id }: Readonly<Record<'table' | 'id', string>>) {
    const from = `${this.#blocks('id')} CROSS JOIN ${table} ON ${isInBlock(id)}`;
    return { from, where: [IS_CANDIDATE] };
  }

  /** Returns the FROM clause and a condition that walk the records of candidates in order. */
  walk(key: BlockKey): Readonly<Record<'from' | 'where', string>> {
    const { table } = this.#list.resource;
    const inBlock = isInBlock(`${table}.${key}`);
    return {
      from: `${this.#blocks(key)} CROSS JOIN ${table} ${indexBy(table, key)} ON ${inBlock}`,
      where: key === this.key ? IS_CANDIDATE : `${IS_CANDIDATE} AND ${this.#overlaps(key)}`,
    };
  }

  /** Returns the query of the blocks with verdicts: are their records in the list? */
  #judge(key: BlockKey): string {
    const { resource, times, counter } = this.#list;
    const blocks = blocksBy(resource, key);
    const passing = key === 'id' && counter?.countInBlock?.(blocks, counter.sql);
    const isInside = times.map(({ time, sql }) => {
      return `${time}_from > ${sql('.after')} AND ${time}_to < ${sql('.before')}`;
    });
    const isOutside = times.map(({ time, sql }) => {
      return `${time}_to <= ${sql('.after')} OR ${time}_from >= ${sql('.before')}`;
    });
    // Only the blocks of ids know how many pass.
    if (counter) (passing ? isOutside : isInside).push(passing ? 'passing = 0' : 'FALSE');
    return `${this.#blocks(key)} AS NOT MATERIALIZED (
      SELECT *, CASE WHEN ${isOutside.join(' OR ') || 'FALSE'} THEN 'outside'
                     WHEN ${isInside.join(' AND ') || 'TRUE'} THEN 'inside'
                     ELSE 'partly' END AS verdict
      FROM ${passing ? `(SELECT *, ${passing} AS passing FROM ${blocks})` : blocks})`;
  }

  /** Returns the query of the exact counts. It reads records only where a verdict is not enough. */
  #count(key: BlockKey): string {
    const { resource, times, counter, found } = this.#list;
    const { table } = resource;
    const filters = counter ? [...times, counter] : times;
    const conditions = filters.map(({ condition, sql }) => condition?.(`${table}.id`, sql));
    const { from, id, where } = found ?? {
      from: `${table} ${indexBy(table, key)}`,
      id: `${table}.${key}`,
      where: conditions.join(' AND '),
    };
    return `${this.counts(key).table} AS NOT MATERIALIZED (
      SELECT block, CASE verdict WHEN 'inside' THEN ${counter ? 'passing' : 'count'}
        WHEN 'outside' THEN 0
        ELSE (SELECT count(*) FROM ${from} WHERE ${isInBlock(id)} AND ${where}) END AS count
      FROM ${this.#blocks(key)})`;
  }

  #blocks(key: BlockKey): string {
    return `${key}_blocks_${this.#suffix}`;
  }

  /** Whether the times of a block overlap those of candidates among the blocks of the other key. */
  #overlaps(key: BlockKey): string {
    const [name, other]: [string, BlockKey] =
      key === 'id' ? ['created', 'number'] : ['updated', 'id'];
    const ofCandidates = (bound: string) =>
      `(SELECT ${bound} FROM ${this.#blocks(other)} WHERE ${IS_CANDIDATE})`;
    return `
      (${name}_to < ${ofCandidates(`min(coalesce(${name}_from, -${MAX_INTEGER}))`)}) IS NOT TRUE AND
      (${name}_from > ${ofCandidates(`max(coalesce(${name}_to, ${MAX_INTEGER}))`)}) IS NOT TRUE`;
  }
}

/** Returns the SQL of the sum of counts. */
export function totalSql({ table, where }: Counts): string {
  return `SELECT coalesce(sum(count), 0) AS total FROM ${table} WHERE ${where}`;
}

/** Returns the table of the blocks of a key. */
export function blocksBy({ blocks, numberBlocks = blocks }: Resource, key: BlockKey): string {
  return key === 'id' ? blocks : numberBlocks;
}

/** Returns the clause that makes SQLite read a table in the order of a key. */
export function indexBy(table: string, key: BlockKey): string {
  return key === 'id' ? 'NOT INDEXED' : `INDEXED BY ${table}_by_number`;
}

function isInBlock(key: string): string {
  return `${key} >= block << ${BLOCK_BITS} AND ${key} < (block + 1) << ${BLOCK_BITS}`;
}
