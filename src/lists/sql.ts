// The pages of lists in SQL, for several requests in one statement.
import { BLOCK_BITS } from '../list-extension.ts';
import { satisfiesSql } from '../records/condition.ts';
import { type Member, membersSql, ownMembers } from '../records/text.ts';
import { LAST_NUMBER, tagSql } from '../storage/numbers.ts';
import { totalSql } from './blocks.ts';
import { EVERYTHING, List } from './list.ts';
import { computedIn, type ListParts, membersIn } from './parts.ts';
import type { RecordQuery } from './record-query.ts';
import { LINES_ENDING, MAX_KEY, type Shape } from './request.ts';

/** Returns the SQL of `count` pages; in a row, `request` is the index of its request. */
export function listSql(parts: ListParts, shape: Shape, count: number): string {
  const pages = Array.from({ length: count }, (_, index) => {
    return new PageSql(new List(parts, shape, index), index);
  });
  const everything = totalSql({ table: parts.resource.blocks, where: 'TRUE' });
  // The tag of an index names the last change in it, so it never stands for a later state.
  const { index } = new List(parts, shape, 0);
  const tag = index?.state ?? `SELECT ${tagSql(LAST_NUMBER, '.')}`;
  const state = shape.isLines ? `SELECT (${tag}) || '${LINES_ENDING}'` : tag;
  const queries = [
    `state (tag) AS MATERIALIZED (${state})`,
    `${EVERYTHING} (total) AS MATERIALIZED (${everything})`,
    ...pages.flatMap((page) => page.queries()),
  ];
  const rows = pages.map((page) => page.select()).join('\nUNION ALL ');
  return `WITH ${queries.join(',\n')}\n${rows}`.replaceAll(/\s*\n\s*/g, '\n');
}

class PageSql {
  readonly #list: List;
  readonly #index: number;
  readonly #members: readonly Member[];
  /** Whether a member is computed from the records after the read. */
  readonly #isUnfinished: boolean;
  /** The texts it is computed from, if records do not have them themselves. */
  readonly #added: readonly Member[] | undefined;
  /** Whether the client has this state already, so that the page needs no records. */
  readonly #isKnown: string | undefined;
  /** Rows before a key are in the reverse order. */
  readonly #isAscending: boolean;

  constructor(list: List, index: number) {
    this.#list = list;
    this.#index = index;
    const { parts, resource, shape } = list;
    this.#members = membersIn(parts, shape);
    const computed = computedIn(parts, shape.include);
    this.#isUnfinished = computed !== undefined;
    if (computed && shape.fields.length > 0) this.#added = ownMembers(resource, computed.fields);
    if (shape.isConditional)
      this.#isKnown = satisfiesSql(list.value('known'), '(SELECT tag FROM state)');
    this.#isAscending = (list.order.isDescending ?? false) === (shape.position === 'before');
  }

  /** Returns the named queries: those of the list, and its first block. */
  queries(): string[] {
    const { order, shape } = this.#list;
    const queries = this.#list.queries();
    const counts = this.#list.counts();
    if (shape.position === 'deep' && counts) {
      const [direction, first] = order.isDescending ? ['DESC', 'max'] : ['ASC', 'min'];
      // SQLite takes `before` from the row of the minimum or maximum.
      queries.push(`block_${this.#index} (block, before) AS MATERIALIZED (
        SELECT ${first}(block), before FROM (
          SELECT block, count, sum(count) OVER (ORDER BY block ${direction}) - count AS before
          FROM ${counts.table} WHERE ${counts.where})
        WHERE before + count > ${this.#list.value('offset')})`);
    }
    return queries;
  }

  /** Returns the query for the row of the page; rows with the records of a large page follow. */
  select(): string {
    const { resource, shape } = this.#list;
    const unlessKnown = (sql: string) =>
      this.#isKnown ? `iif(${this.#isKnown}, NULL, ${sql})` : sql;
    const [low, high] = this.#ends();
    const page = `
      SELECT ${this.#index} AS request, ${this.#tag()} AS tag,
        ${this.#list.exists()} AS owner_exists,
        ${unlessKnown(shape.isOne ? '1' : `(${this.#list.total()})`)} AS total,
        ${unlessKnown('items')} AS items, count, ${low} AS low, ${high} AS high
      FROM (SELECT ${shape.isLarge ? "''" : this.#texts()} AS items, count(*) AS count,
              min(sort_key) AS low, max(sort_key) AS high
            FROM (${this.#rows()}) AS ${resource.table})`;
    const row = this.#hasKeys ? this.#withNeighbours(page) : page;
    return shape.isLarge ? `${row} UNION ALL ${this.#largeRecords()}` : row;
  }

  /** The tag of a list or, of a single record that depends on no other, its own. */
  #tag(): string {
    const isOwn = this.#list.shape.isOne && !this.#members.some((each) => each.dependsOnOthers);
    return isOwn ? tagSql('low') : '(SELECT tag FROM state)';
  }

  #texts(): string {
    const areLines = this.#isUnfinished || this.#list.shape.isLines;
    const separator = areLines ? 'char(10)' : "','";
    // The aggregate keeps the order of the subquery; an ORDER BY argument would sort again. Unlike
    // json_group_array, it ends as soon as the text exceeds the limit of the statement.
    return `coalesce(group_concat(${this.#record()}, ${separator} ${this.#inOrder()}), '')`;
  }

  /** A tab, which JSON text does not contain, separates a record from its texts. */
  #record(): string {
    const json = (members: readonly Member[]) => `json_object(${membersSql(members)})`;
    const texts = this.#added ? ` || char(9) || ${json(this.#added)}` : '';
    return `${json(this.#members)}${texts}`;
  }

  /** Returns only what the records need: SQLite sorts all columns of a subquery. */
  #columns(): string {
    const { resource } = this.#list;
    const members = [...this.#members, ...(this.#added ?? [])];
    const columns = members.flatMap((member) => member.columns);
    return [...new Set(columns)].map((column) => `${resource.table}.${column}`).join(', ');
  }

  /** One row for each record, as bytes: they need no encoding on their way to the socket. */
  #largeRecords(): string {
    const { table } = this.#list.resource;
    const record = `CAST(${this.#record()} AS BLOB)`;
    const others = this.#hasKeys ? ', NULL, NULL' : '';
    return `
      SELECT ${this.#index}, NULL, NULL, NULL, ${record}, 1, NULL, NULL${others}
      FROM (SELECT * FROM (${this.#rows()}) ${this.#inOrder()}) AS ${table}`;
  }

  /** Orders records that were found in the reverse order. */
  #inOrder(): string {
    const { order, shape } = this.#list;
    return shape.position === 'before'
      ? `ORDER BY sort_key ${order.isDescending ? 'DESC' : ''}`
      : '';
  }

  /** Whether links to the neighbours begin at keys; those by score, or by offset and id, do not. */
  get #hasKeys(): boolean {
    const { index, order, shape } = this.#list;
    const isByOffset = shape.order === 'id' && ['offset', 'deep'].includes(shape.position);
    return order.key !== undefined && (index !== undefined || !isByOffset);
  }

  /** Returns the keys at the ends. An empty page lies beside its key or at the end of the list. */
  #ends(): [low: string, high: string] {
    // Beside an empty page, a text has no successor.
    if (!this.#hasKeys || this.#list.order.key === 'text') return ['low', 'high'];
    const key = this.#list.value('key');
    return this.#isAscending
      ? [`coalesce(low, min(${key} + 1, ${MAX_KEY}), ${MAX_KEY})`, 'high']
      : ['low', `coalesce(high, max(${key} - 1, 0), 0)`];
  }

  /** Adds whether there are records beyond the keys of a page. */
  #withNeighbours(page: string): string {
    // From the page on, so that a record nearby is found without reading those at the far end.
    const find = (operator: '<' | '>', end: string) => (query: RecordQuery) =>
      `
      (SELECT 1 FROM ${query.name} WHERE ${isBeyond(query, operator, end)}
       ${query.isSorted ? '' : orderBy(query, operator === '>')} LIMIT 1)`;
    const lower = this.#list.chosen(find('<', 'page.low'));
    const higher = this.#list.chosen(find('>', 'page.high'));
    return `SELECT *, ${lower} AS has_lower, ${higher} AS has_higher FROM (${page}) AS page`;
  }

  #rows(): string {
    const { table } = this.#list.resource;
    const given = this.#list.value('limit');
    const limit = this.#isKnown ? `iif(${this.#isKnown}, 0, ${given})` : given;
    if (!this.#list.order.key) return this.#scoredRows(limit);
    const columns = this.#columns();
    const rows = this.#list.each().map((query) => {
      const [isStarted, offset] = this.#start(query);
      const order = orderBy(query, this.#isAscending);
      const page = `
        sort_key FROM ${query.name} AS ${table} WHERE ${isStarted} ${order}
        LIMIT ${this.#list.chosen(({ name }) => (name === query.name ? limit : '0'))} ${offset}`;
      if (!query.hasIds) return `SELECT ${columns}, ${page}`;
      return `
        SELECT ${columns}, sort_key FROM (SELECT id AS found, ${page})
        CROSS JOIN ${table} ON ${table}.id = found ${orderBy(query, this.#isAscending)}`;
    });
    if (rows.length === 1) return rows.join();
    return rows.map((sql) => `SELECT * FROM (${sql})`).join(' UNION ALL ');
  }

  /** Returns the condition under which a record is not before the page, and its OFFSET clause. */
  #start(query: RecordQuery): [isStarted: string, offset: string] {
    const { position } = this.#list.shape;
    const operator = this.#isAscending ? '>' : '<';
    if (position === 'after' || position === 'before')
      return [isBeyond(query, operator, this.#list.value('key')), ''];
    const offset = this.#list.value('offset');
    if (position === 'offset' || !this.#list.counts()) return ['TRUE', `OFFSET ${offset}`];
    const block = `(SELECT block FROM block_${this.#index})`;
    const before = `(SELECT before FROM block_${this.#index})`;
    const first = this.#isAscending ? block : `(${block} + 1)`;
    const end = `((${first} << ${BLOCK_BITS}) - ${this.#isAscending ? 1 : 0})`;
    return [isBeyond(query, operator, end), `OFFSET coalesce(${offset} - ${before}, 0)`];
  }

  /** Sorts only ids, so that no other record than those of the page is read. */
  #scoredRows(limit: string): string {
    const { order, resource } = this.#list;
    const { ids, id, where } = this.#list.found();
    const by = order.isDescending ? 'score DESC, found' : 'score, found';
    return `
      SELECT ${this.#columns()}, NULL AS sort_key
      FROM (SELECT ${id} AS found, ${order.score} AS score FROM ${ids} WHERE ${where}
            ORDER BY ${by} LIMIT ${limit} OFFSET ${this.#list.value('offset')})
      CROSS JOIN ${resource.table} ON ${resource.table}.id = found ORDER BY ${by}`;
  }
}

/** Returns the condition that a record lies beyond an end, whose blocks can be skipped. */
function isBeyond({ hasBlocks }: RecordQuery, operator: '<' | '>', end: string): string {
  if (!hasBlocks) return `sort_key ${operator} ${end}`;
  // The plus keeps SQLite from searching by this condition instead of the block.
  return `+sort_key ${operator} ${end} AND block ${operator}= ${end} >> ${BLOCK_BITS}`;
}

function orderBy({ hasBlocks }: RecordQuery, isAscending: boolean): string {
  const direction = isAscending ? 'ASC' : 'DESC';
  return `ORDER BY ${hasBlocks ? `block ${direction}, ` : ''}sort_key ${direction}`;
}
