// A table of records: what the create/read/update/delete pattern needs of storage, generated from the table's shape.
// Records leave here as JSON text made by SQLite, ready to be sent; nothing builds row objects on the way.
import { type BatchMeter, createBatcher } from './batcher.ts';
import type { Database, Row } from './database.ts';
import { createPages, type Page } from './pages.ts';
import { parentExistsSql, recordSql, storedColumns, type TableShape } from './shape.ts';
import type { Values, Write, WriteKind } from './writer.ts';

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

/** What measures the reads of tables: single records and pages. */
export interface TableMeters {
  readonly read: BatchMeter;
  readonly page: BatchMeter;
}

/** Returns the table of `shape` in `database`, whose writes all go through `write`; its reads are measured by `meters`. */
export function createTable(shape: TableShape, database: Database, write: Write, meters?: TableMeters): Table {
  const sql = statementsOf(shape);
  const readPage = createPages(shape, database, meters?.page);
  const creation: WriteKind<number | undefined> = { ...sql.create, outcomes: createdIds };
  const replacement: WriteKind<boolean> = { ...sql.replace, outcomes: foundOrNot };
  const removal: WriteKind<boolean> = { ...sql.remove, outcomes: foundOrNot };

  const readOne = createBatcher<RecordKey, string | undefined>({
    meter: meters?.read,
    async run(wanted) {
      // A table without parents is asked with bare ids: to take them out of arrays is a third of the work.
      const keys = wanted.map(({ id, parent }) => (shape.parent ? withParent([id], parent) : id));
      const [row] = await database.read({ sql: sql.read, parameter: JSON.stringify(keys) });
      if (typeof row?.records !== 'string') throw new Error('the engine returned no records');
      // One line for each; JSON text holds no raw line feed.
      const records = row.records.split('\n');
      return wanted.map((key, place) => recordIn(records[place], beginningOf(key)));
    },
  });

  const withParent = (values: (string | number)[], parent: number | undefined): Values =>
    shape.parent ? [parent ?? 0, ...values] : values;

  /** How the text of a record begins, as `recordSql` makes it. */
  const beginningOf = ({ id, parent = 0 }: RecordKey) =>
    shape.parent ? `{"id":${id},"${shape.parent.column}":${parent},` : `{"id":${id},`;

  return {
    create: (texts, parent) => write(creation, undefined, withParent([...texts], parent)),
    read: (id, parent) => readOne({ id, parent }),
    replace: (id, texts, parent) => write(replacement, id, withParent([id, ...texts], parent)),
    remove: (id, parent) => write(removal, id, withParent([id], parent)),

    page: (limit, offset, parent, check) => readPage({ limit, offset, parent, check }),
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

/** Which record is wanted. */
interface RecordKey {
  readonly id: number;
  readonly parent: number | undefined;
}

/** The record in a line, undefined where there is none. Throws if it is another one: SQLite promises no order of lines. */
function recordIn(line: string | undefined, beginning: string): string | undefined {
  if (line === '') return undefined;
  if (!line?.startsWith(beginning)) throw new Error('the engine returned the records in another order');
  return line;
}

/** The SQL of a table. Each statement takes one JSON text; values stand in the order [parent, id, ...texts], as far as there is a parent and an id. */
function statementsOf(shape: TableShape) {
  const { name, columns, parent } = shape;
  const stored = storedColumns(shape);
  const value = (index: number) => `value ->> ${index}`;
  const idAt = parent ? 1 : 0;
  const isWanted = `${name}.id = ${value(idAt)}${parent ? ` AND ${name}.${parent.column} = ${value(0)}` : ''}`;
  const isRead = parent ? isWanted : `${name}.id = value`;
  const nextId = `(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${name}') + key + 1`;
  const found = `(SELECT json_group_array(json_object('id', ${name}.id)) FROM json_each(?1) JOIN ${name} ON ${isWanted})`;
  return {
    // Ids are given explicitly (the last one ever given, plus the place in the batch), for RETURNING has no order.
    create: {
      sql: `
        INSERT INTO ${name} (id, ${stored.join(', ')})
        SELECT ${nextId}, ${stored.map((_, index) => value(index)).join(', ')}
        FROM json_each(?1) WHERE ${parentExistsSql(shape, value(0))}
        RETURNING id${parent ? `, ${parent.column} AS parent` : ''}`,
      rows: `
        (SELECT json_group_array(json_object('id', ${nextId}${parent ? `, 'parent', ${value(0)}` : ''}))
         FROM json_each(?1) WHERE ${parentExistsSql(shape, value(0))})`,
    },

    read: `
      SELECT group_concat(CASE WHEN ${name}.id IS NULL THEN '' ELSE ${recordSql(shape)} END, char(10)) AS records
      FROM json_each(?1) LEFT JOIN ${name} ON ${isRead}`,

    replace: {
      sql: `
        UPDATE ${name} SET ${columns.map((column, index) => `${column} = ${value(idAt + 1 + index)}`).join(', ')}
        FROM json_each(?1) WHERE ${isWanted}
        RETURNING ${name}.id`,
      rows: found,
    },

    remove: {
      sql: parent
        ? `DELETE FROM ${name} WHERE (${parent.column}, id) IN (SELECT ${value(0)}, ${value(1)} FROM json_each(?1)) RETURNING id`
        : `DELETE FROM ${name} WHERE id IN (SELECT ${value(0)} FROM json_each(?1)) RETURNING id`,
      rows: found,
    },
  };
}
