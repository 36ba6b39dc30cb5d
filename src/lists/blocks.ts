// The blocks of ids and of numbers, whose counts and bounds of times save reading their records.
import { BLOCK_BITS, type BlockKey, type Filter, type FilterValue } from '../list-extension.ts';
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

/** The blocks of a list with filters by time. Named queries give a verdict on each. */
export class TimeBlocks {
  readonly #resource: Resource;
  readonly #filters: readonly UsedFilter[];
  readonly #order: BlockKey;
  readonly #suffix: string;
  /** The key in whose blocks the filtered times differ least; of two, not the key of the order. */
  readonly key: BlockKey;

  /** `order` is the key of the list. `suffix` makes the names of the queries unique. */
  constructor(resource: Resource, filters: readonly UsedFilter[], order: BlockKey, suffix: string) {
    this.#resource = resource;
    this.#filters = filters;
    this.#order = order;
    this.#suffix = suffix;
    const keys = filters.map(({ time }): BlockKey => (time === 'created' ? 'id' : 'number'));
    this.key = keys.find((key) => key !== order) ?? order;
  }

  /** Returns the named queries of the blocks, of their counts, and of the sum of these. */
  queries(): string[] {
    const keys = new Set([this.key, this.#order]);
    const counted = this.#filters.length > 1 ? [...keys] : [this.key];
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
    return totalSql({ table: this.#blocks(this.key), where: IS_CANDIDATE });
  }

  /** Returns the FROM clause and a condition that walk the records of candidates in order. */
  walk(key: BlockKey): Readonly<Record<'from' | 'where', string>> {
    const { table } = this.#resource;
    const inBlock = isInBlock(table, key);
    return {
      from: `${this.#blocks(key)} CROSS JOIN ${table} ${indexBy(table, key)} ON ${inBlock}`,
      where: key === this.key ? IS_CANDIDATE : `${IS_CANDIDATE} AND ${this.#overlaps(key)}`,
    };
  }

  /** Returns the query of the blocks with verdicts: are their records in the list? */
  #judge(key: BlockKey): string {
    const isInside = this.#filters.map(({ time, sql }) => {
      return `${time}_from > ${sql('.after')} AND ${time}_to < ${sql('.before')}`;
    });
    const isOutside = this.#filters.map(({ time, sql }) => {
      return `${time}_to <= ${sql('.after')} OR ${time}_from >= ${sql('.before')}`;
    });
    return `${this.#blocks(key)} AS NOT MATERIALIZED (
      SELECT *, CASE WHEN ${isInside.join(' AND ')} THEN 'inside'
                     WHEN ${isOutside.join(' OR ')} THEN 'outside' ELSE 'partly' END AS verdict
      FROM ${blocksBy(this.#resource, key)})`;
  }

  /** Returns the query of the exact counts. It reads records only where a verdict is not enough. */
  #count(key: BlockKey): string {
    const { table } = this.#resource;
    const conditions = this.#filters.map(({ condition, sql }) => condition?.('', sql));
    return `${this.counts(key).table} AS NOT MATERIALIZED (
      SELECT block, CASE verdict WHEN 'inside' THEN count WHEN 'outside' THEN 0
        ELSE (SELECT count(*) FROM ${table} ${indexBy(table, key)}
              WHERE ${isInBlock(table, key)} AND ${conditions.join(' AND ')}) END AS count
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

function isInBlock(table: string, key: BlockKey): string {
  const ofRecord = `${table}.${key}`;
  return `${ofRecord} >= block << ${BLOCK_BITS} AND ${ofRecord} < (block + 1) << ${BLOCK_BITS}`;
}
