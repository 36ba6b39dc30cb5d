// A table of records: what the create/read/update/delete pattern needs of storage, generated from the table's shape.
// Records leave here as JSON text made by SQLite, ready to be sent; nothing builds row objects on the way.
import { createBatcher } from './batcher.ts';
import type { Database, Row } from './database.ts';
import { BLOCK_BITS } from './migrations.ts';
import type { Values, Write, WriteKind } from './writer.ts';

/** The shape of a table: its name, its text columns in order, its table of block counts, and whose child it is. */
export interface TableShape {
  readonly name: string;
  readonly blocks: string;
  readonly columns: readonly string[];
  readonly parent?: { readonly table: string; readonly column: string };
}

/** A page of records: the JSON text of an array, and how many records there are in all. */
export interface Page {
  readonly items: string;
  readonly total: number;
}

/**
 * The records of one table. `parent` is the id of the record they belong to; a table without parents ignores it.
 * Every call rejects with DatabaseUnavailable or DatabaseOverloaded when the database cannot serve now.
 */
export interface Table {
  /** Stores a record, `texts` in the order of the columns; resolves with its id, or undefined if the parent is missing. */
  create(texts: readonly string[], parent?: number): Promise<number | undefined>;
  /** Resolves with the record as JSON text, or undefined. */
  read(id: number, parent?: number): Promise<string | undefined>;
  /** Replaces the texts of a record; resolves with false if there is none. */
  replace(id: number, texts: readonly string[], parent?: number): Promise<boolean>;
  /** Deletes a record with all that belongs to it; resolves with false if there is none. */
  remove(id: number, parent?: number): Promise<boolean>;
  /**
   * Resolves with at most `limit` records by rising id, `offset` of them skipped; undefined if the parent is missing.
   * `check` is called when the page has its turn; if it throws, the page is not read.
   */
  page(limit: number, offset: number, parent?: number, check?: () => void): Promise<Page | undefined>;
}

/** From this offset on the block counts find a page sooner than walking there does. */
export const DEEP_OFFSET = 2_048;

/** Returns the table of `shape` in `database`, whose writes all go through `write`. */
export function createTable(shape: TableShape, database: Database, write: Write): Table {
  const sql = statementsOf(shape);
  const creation: WriteKind<number | undefined> = { sql: sql.create, outcomes: createdIds };
  const replacement: WriteKind<boolean> = { sql: sql.replace, outcomes: foundOrNot };
  const removal: WriteKind<boolean> = { sql: sql.remove, outcomes: foundOrNot };

  const readOne = createBatcher<Values, string | undefined>({
    async run(wanted) {
      const [row] = await database.read({ sql: sql.read, parameter: JSON.stringify(wanted) });
      if (typeof row?.records !== 'string') throw new Error('the engine returned no records');
      // One line for each id that was asked for, in that order; JSON text holds no raw line feed.
      return row.records.split('\n').map((record) => (record === '' ? undefined : record));
    },
  });

  const withParent = (values: (string | number)[], parent: number | undefined): Values =>
    shape.parent ? [parent ?? 0, ...values] : values;

  return {
    create: (texts, parent) => write(creation, undefined, withParent([...texts], parent)),
    read: (id, parent) => readOne(withParent([id], parent)),
    replace: (id, texts, parent) => write(replacement, id, withParent([id, ...texts], parent)),
    remove: (id, parent) => write(removal, id, withParent([id], parent)),

    async page(limit, offset, parent, check) {
      const parameter = JSON.stringify([limit, offset, parent ?? 0]);
      const [row] = await database.read({ sql: offset < DEEP_OFFSET ? sql.page : sql.deepPage, parameter }, check);
      if (!row?.parent_exists) return undefined;
      return { items: String(row.items), total: Number(row.total) };
    },
  };

  /** Ids rise with the order of the writes; those whose parent was missing brought no row. */
  function createdIds(writes: readonly Values[], rows: readonly Row[]): (number | undefined)[] {
    const ids = rows.map((row) => Number(row.id)).sort((one, other) => one - other);
    if (!shape.parent) return ids;
    const parents = new Set(rows.map((row) => row.parent));
    let next = 0;
    return writes.map(([parent]) => (parents.has(parent as number) ? ids[next++] : undefined));
  }

  function foundOrNot(writes: readonly Values[], rows: readonly Row[]): boolean[] {
    const found = new Set(rows.map((row) => row.id));
    const position = shape.parent ? 1 : 0;
    return writes.map((values) => found.has(values[position] as number));
  }
}

/** The SQL of a table. Each statement takes one JSON text; values stand in the order [parent, id, ...texts], as far as there is a parent and an id. */
function statementsOf({ name, blocks, columns, parent }: TableShape) {
  const stored = parent ? [parent.column, ...columns] : columns;
  const record = `json_object(${['id', ...stored].map((column) => `'${column}', ${name}.${column}`).join(', ')})`;
  const value = (index: number) => `value ->> ${index}`;
  const idAt = parent ? 1 : 0;
  const isWanted = `${name}.id = ${value(idAt)}${parent ? ` AND ${name}.${parent.column} = ${value(0)}` : ''}`;
  const parentExists = (id: string) => (parent ? `EXISTS (SELECT 1 FROM ${parent.table} WHERE id = ${id})` : 'TRUE');
  const ofParent = parent ? `${parent.column} = ?1 ->> 2` : 'TRUE';

  const page = (source: string) => `
    SELECT ${parentExists('?1 ->> 2')} AS parent_exists,
      (SELECT coalesce(sum(count), 0) FROM ${blocks} WHERE ${ofParent}) AS total,
      (SELECT json_group_array(${record} ORDER BY ${name}.id) FROM (${source}) AS ${name}) AS items`;

  return {
    // Ids are given explicitly (the last one ever given, plus the place in the batch), for RETURNING has no order.
    create: `
      INSERT INTO ${name} (id, ${stored.join(', ')})
      SELECT (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${name}') + key + 1,
        ${stored.map((_, index) => value(index)).join(', ')}
      FROM json_each(?1) WHERE ${parentExists(value(0))}
      RETURNING id${parent ? `, ${parent.column} AS parent` : ''}`,

    read: `
      SELECT group_concat(CASE WHEN ${name}.id IS NULL THEN '' ELSE ${record} END, char(10) ORDER BY key) AS records
      FROM json_each(?1) LEFT JOIN ${name} ON ${isWanted}`,

    replace: `
      UPDATE ${name} SET ${columns.map((column, index) => `${column} = ${value(idAt + 1 + index)}`).join(', ')}
      FROM json_each(?1) WHERE ${isWanted}
      RETURNING ${name}.id`,

    remove: parent
      ? `DELETE FROM ${name} WHERE (${parent.column}, id) IN (SELECT ${value(0)}, ${value(1)} FROM json_each(?1)) RETURNING id`
      : `DELETE FROM ${name} WHERE id IN (SELECT ${value(0)} FROM json_each(?1)) RETURNING id`,

    page: page(`SELECT * FROM ${name} WHERE ${ofParent} ORDER BY id LIMIT ?1 ->> 0 OFFSET ?1 ->> 1`),

    // The first block that reaches past the offset, and how many records stand before it.
    deepPage: `
      WITH place (block, before) AS (
        SELECT block, before
        FROM (SELECT block, count, sum(count) OVER (ORDER BY block) - count AS before FROM ${blocks} WHERE ${ofParent})
        WHERE before + count > ?1 ->> 1 ORDER BY block LIMIT 1
      )
      ${page(`
        SELECT * FROM ${name} WHERE ${ofParent} AND id >= (SELECT block << ${BLOCK_BITS} FROM place)
        ORDER BY id LIMIT ?1 ->> 0 OFFSET coalesce((?1 ->> 1) - (SELECT before FROM place), 0)`)}`,
  };
}
