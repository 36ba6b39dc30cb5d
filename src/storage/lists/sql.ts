// The pages of lists in SQL, for several requests in one statement.
import { BLOCK_BITS, type Resource, type SearchTables } from '../../resources/resource.ts';
import { LAST_NUMBER, listTagSql, tagSql } from '../numbers.ts';
import { satisfiesSql } from '../records/condition.ts';
import { type Member, membersIn, membersSql } from '../records/members.ts';
import { MAX_KEY, type Shape } from './request.ts';
import { EVERYTHING, ListSource, type PageSource, totalSql } from './source.ts';

/** Returns the SQL of `count` pages; in a row, `request` is the index of its request. */
export function listSql(
  resource: Resource,
  shape: Shape,
  count: number,
  isConditional: boolean,
): string {
  const pages = Array.from({ length: count }, (_, index) => {
    return new PageSql(new ListSource(resource, shape, index), index, isConditional);
  });
  const everything = totalSql({ table: resource.blocks, where: 'TRUE' });
  const tables = [
    `state (tag, is_current) AS MATERIALIZED (${stateQuery(resource, shape)})`,
    `${EVERYTHING} (total) AS MATERIALIZED (${everything})`,
    ...pages.flatMap((page) => page.tables()),
  ];
  return `WITH ${tables.join(',')} ${pages.map((page) => page.select()).join(' UNION ALL ')}`;
}

/** The tag of a search names the last change in the index, so it never stands for a later state. */
function stateQuery(resource: Resource, { isSearch }: Shape): string {
  if (!isSearch) return `SELECT ${listTagSql(LAST_NUMBER)}, 1`;
  const { position } = searchOf(resource);
  const number = 'iif(id IS NULL, number, 0)';
  return `SELECT ${listTagSql(number)}, ${number} = ${LAST_NUMBER} FROM ${position}`;
}

class PageSql {
  readonly #source: ListSource;
  readonly #index: number;
  readonly #isConditional: boolean;
  readonly #members: readonly Member[];

  constructor(source: ListSource, index: number, isConditional: boolean) {
    this.#source = source;
    this.#members = membersIn(source.resource, source.shape);
    this.#index = index;
    this.#isConditional = isConditional;
  }

  /** Returns what the page needs: its first block, its number of links, the ids of a large page. */
  tables(): string[] {
    const { position, order } = this.#source.shape;
    const tables = this.#source.tables();
    const blocks = this.#source.blocks();
    if (position === 'deep' && blocks) {
      const [direction, first] = order.startsWith('-') ? ['DESC', 'max'] : ['ASC', 'min'];
      // SQLite takes `before` from the row of the minimum or maximum.
      tables.push(`block_${this.#index} (block, before) AS MATERIALIZED (
        SELECT ${first}(block), before FROM (
          SELECT block, count, sum(count) OVER (ORDER BY block ${direction}) - count AS before
          FROM ${blocks.table} WHERE ${blocks.where})
        WHERE before + count > ${this.#source.value('offset')})`);
    }
    if (this.#source.shape.isLarge)
      tables.push(`found (id, key) AS MATERIALIZED (
        SELECT id, key FROM (${this.#rows()}) ${this.#reversed()})`);
    return tables;
  }

  /** Returns the query for the row of the page; rows with the records of a large page follow. */
  select(): string {
    const { isOne, isLarge } = this.#source.shape;
    const unlessKnown = (sql: string) =>
      this.#isConditional ? `iif(${this.#isKnown()}, NULL, ${sql})` : sql;
    const total = isOne ? '1' : `(${this.#source.total()})`;
    const page = `
      SELECT ${this.#index} AS request, ${this.#tag()} AS tag,
        (SELECT is_current FROM state) AS is_current, ${this.#source.exists()} AS owner_exists,
        ${unlessKnown(total)} AS total, ${unlessKnown('items')} AS items, count, low, high
      FROM (SELECT ${isLarge ? "''" : this.#texts()} AS items, count(*) AS count,
              min(key) AS low, max(key) AS high
            FROM (${isLarge ? 'found' : this.#rows()}) AS ${this.#source.resource.table})`;
    const withEdges = this.#hasKeys ? this.#withEdges(page) : page;
    return isLarge ? `${withEdges} UNION ALL ${this.#largeRecords()}` : withEdges;
  }

  /** The tag of a list or, of a single record that depends on no other, its own. */
  #tag(): string {
    const isOwn = this.#source.shape.isOne && !this.#members.some((each) => each.dependsOnOthers);
    return isOwn ? tagSql('low') : '(SELECT tag FROM state)';
  }

  #texts(): string {
    const separator = this.#source.shape.asLines ? 'char(10)' : "','";
    // The aggregate keeps the order of the subquery; an ORDER BY argument would sort again. Unlike
    // json_group_array, it ends as soon as the text exceeds the limit of the statement.
    return `coalesce(group_concat(${this.#record()}, ${separator} ${this.#reversed()}), '')`;
  }

  #record(): string {
    const { table } = this.#source.resource;
    return `json_object(${membersSql(this.#members, (column) => `${table}.${column}`)})`;
  }

  /** Returns only what the records need: SQLite sorts all columns of a subquery. */
  #columns(): string {
    const { table } = this.#source.resource;
    const columns = this.#members.flatMap((member) => member.columns);
    const needed = this.#source.shape.isLarge ? ['id'] : new Set(columns);
    return [...needed].map((column) => `${table}.${column}`).join(', ');
  }

  /** One row for each record, as bytes: they need no encoding on their way to the socket. */
  #largeRecords(): string {
    const { table } = this.#source.resource;
    const record = this.#record();
    const others = this.#hasKeys ? ', NULL, NULL' : '';
    return `
      SELECT ${this.#index}, NULL, NULL, NULL, NULL, CAST(${record} AS BLOB), 1, NULL, NULL${others}
      FROM found CROSS JOIN ${table} ON ${table}.id = found.id`;
  }

  /** Orders records that were found in the reverse order. */
  #reversed(): string {
    const { position, order } = this.#source.shape;
    return position === 'before' ? `ORDER BY key ${order.startsWith('-') ? 'DESC' : ''}` : '';
  }

  /** Whether the client has this state already, so that the page needs no records. */
  #isKnown(): string {
    return satisfiesSql(this.#source.value('known'), '(SELECT tag FROM state)');
  }

  /** Whether links to the neighbours begin at keys; those by rank, or by offset and id, do not. */
  get #hasKeys(): boolean {
    const { order, position, isSearch } = this.#source.shape;
    if (order === 'rank') return false;
    return isSearch || order !== 'id' || position === 'after' || position === 'before';
  }

  /** Adds whether there are records beyond the keys of a page. */
  #withEdges(page: string): string {
    const { position, order } = this.#source.shape;
    const key = this.#source.value('key');
    const isAtLowEnd = (position === 'before') !== order.startsWith('-');
    // An empty page lies beside its key or, at an offset, at the end of the list.
    const [low, high] = isAtLowEnd
      ? ['low', `coalesce(high, max(${key} - 1, 0), 0)`]
      : [`coalesce(low, min(${key} + 1, ${MAX_KEY}), ${MAX_KEY})`, 'high'];
    // From the page on, so that a record nearby is found without reading those at the far end.
    const exists = (operator: '<' | '>', end: string) =>
      this.#source
        .each()
        .map((source) => {
          const order = source.isSorted ? '' : orderBy(source, operator === '>');
          return `
            (${source.isChosen} AND (SELECT 1 FROM ${source.from} WHERE ${source.where}
              AND ${isBeyond(source, operator, end)} ${order} LIMIT 1) IS NOT NULL)`;
        })
        .join(' OR ');
    return `
      SELECT *, ${exists('<', 'page.low')} AS has_lower, ${exists('>', 'page.high')} AS has_higher
      FROM (SELECT request, tag, is_current, owner_exists, total, items, count,
              ${low} AS low, ${high} AS high FROM (${page})) AS page`;
  }

  /** Rows before a key are in the reverse order. */
  #rows(): string {
    const { position, order } = this.#source.shape;
    const given = this.#source.value('limit');
    const limit = this.#isConditional ? `iif(${this.#isKnown()}, 0, ${given})` : given;
    if (order === 'rank') return this.#rankedRows(limit);
    const isRising = order.startsWith('-') === (position === 'before');
    const columns = this.#columns();
    const [isStarted, offset] = this.#start(isRising);
    const { table } = this.#source.resource;
    const sources = this.#source.each().map((source) => {
      const { from, id, where, key, isChosen, isSorted } = source;
      const page = `
        ${key} AS key FROM ${from} WHERE ${where} AND ${isStarted(source)}
        ${orderBy(source, isRising)}
        LIMIT ${isChosen === 'TRUE' ? limit : `iif(${isChosen}, ${limit}, 0)`} ${offset}`;
      if (!isSorted) return `SELECT ${columns}, ${page}`;
      return `
        SELECT ${columns}, key FROM (SELECT ${id} AS found, ${page})
        CROSS JOIN ${table} ON ${table}.id = found ORDER BY key ${isRising ? 'ASC' : 'DESC'}`;
    });
    const [only = ''] = sources;
    if (sources.length === 1) return only;
    return sources.map((sql) => `SELECT * FROM (${sql})`).join(' UNION ALL ');
  }

  /** Returns the condition under which a record is not before the page, and its OFFSET clause. */
  #start(isRising: boolean): [isStarted: (source: PageSource) => string, offset: string] {
    const { position } = this.#source.shape;
    const operator = isRising ? '>' : '<';
    if (position === 'after' || position === 'before')
      return [(source) => isBeyond(source, operator, this.#source.value('key')), ''];
    if (position === 'offset' || !this.#source.blocks())
      return [() => 'TRUE', `OFFSET ${this.#source.value('offset')}`];
    const block = `(SELECT block FROM block_${this.#index})`;
    const before = `(SELECT before FROM block_${this.#index})`;
    const end = isRising ? `(${block} << ${BLOCK_BITS}) - 1` : `(${block} + 1) << ${BLOCK_BITS}`;
    return [
      (source) => isBeyond(source, operator, `(${end})`),
      `OFFSET coalesce(${this.#source.value('offset')} - ${before}, 0)`,
    ];
  }

  /** Sorts only ids, so that no other record than those of the page is read. */
  #rankedRows(limit: string): string {
    const { table } = this.#source.resource;
    const { ids, id, where } = this.#source.first();
    const search = searchOf(this.#source.resource);
    const score = `bm25(${[search.table, ...search.weights].join(', ')})`;
    return `
      SELECT ${this.#columns()}, NULL AS key
      FROM (SELECT ${id} AS found, ${score} AS score FROM ${ids} WHERE ${where}
            ORDER BY score, found LIMIT ${limit} OFFSET ${this.#source.value('offset')})
      CROSS JOIN ${table} ON ${table}.id = found ORDER BY score, found`;
  }
}

/** Returns the condition that a record lies beyond an end, whose blocks can be skipped. */
function isBeyond({ key, block }: PageSource, operator: '<' | '>', end: string): string {
  if (!block) return `${key} ${operator} ${end}`;
  // The plus keeps SQLite from searching by this condition instead of the block.
  return `+${key} ${operator} ${end} AND ${block} ${operator}= ${end} >> ${BLOCK_BITS}`;
}

function orderBy({ key, block }: PageSource, isRising: boolean): string {
  const columns = block ? [block, key] : [key];
  return `ORDER BY ${columns.map((each) => `${each} ${isRising ? 'ASC' : 'DESC'}`).join(', ')}`;
}

function searchOf({ search, table }: Resource): SearchTables {
  if (!search) throw new Error(`${table} cannot be searched`);
  return search;
}
