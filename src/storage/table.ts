// A table of records: create, read, replace, delete and list, generated from a resource. SQLite
// builds the JSON text of the records, which the service sends as it is.
import { columnsOf, type FieldValue, type Resource } from '../resources/resource.ts';
import { Batcher, type BatchMeter } from './batcher.ts';
import type { Database, Row } from './database.ts';
import { createPages, type Page } from './pages.ts';
import { ownerExistsSql, recordSql } from './record-text.ts';
import type { Values, Write, WriteKind } from './writer.ts';

/**
 * The records of one table. `owner` is the id of the record that owns them; a table without owners
 * ignores it. Every call rejects with DatabaseUnavailable or QueueFull when the database cannot
 * serve now.
 */
export interface Table {
  /** Stores a record; resolves with its id, or undefined if the owner is missing. */
  create(values: readonly FieldValue[], owner?: number): Promise<number | undefined>;
  /** Resolves with the record as JSON text, or undefined. */
  read(id: number, owner?: number): Promise<string | undefined>;
  /** Replaces the values of a record; resolves with false if there is none. */
  replace(id: number, values: readonly FieldValue[], owner?: number): Promise<boolean>;
  /** Deletes a record and everything it owns; resolves with false if there is none. */
  remove(id: number, owner?: number): Promise<boolean>;
  /**
   * Resolves with at most `limit` records in order of their ids, after skipping `offset`;
   * undefined if the owner is missing. `check` is called right before the page is read; if it
   * throws, the call rejects.
   */
  page(
    limit: number,
    offset: number,
    owner?: number,
    check?: () => void,
  ): Promise<Page | undefined>;
}

/** The meters of the reads of single records and of pages. */
export interface TableMeters {
  readonly read: BatchMeter;
  readonly page: BatchMeter;
}

/** Returns the table of `resource`, whose writes go through `write`; `meters` observe the reads. */
export function createTable(
  resource: Resource,
  database: Database,
  write: Write,
  meters?: TableMeters,
): Table {
  const sql = statementsOf(resource);
  const isOwned = resource.owner !== undefined;
  const readPage = createPages(resource, database, meters?.page);
  const reads = createReads(resource, sql.read, database, meters?.read);
  const outcomes = (writes: readonly Values[], rows: readonly Row[]) =>
    wereFound(writes, rows, isOwned ? 1 : 0);
  const creation: WriteKind<number | undefined> = {
    ...sql.create,
    outcomes: (writes, rows) => createdIds(writes, rows, isOwned),
  };
  const replacement: WriteKind<boolean> = { ...sql.replace, outcomes };
  const removal: WriteKind<boolean> = { ...sql.remove, outcomes };
  const withOwner = (values: readonly FieldValue[], owner = 0): Values =>
    isOwned ? [owner, ...values] : values;

  return {
    create: (values, owner) => write(creation, undefined, withOwner(values, owner)),
    read: (id, owner) => reads.submit({ id, owner: owner ?? 0 }),
    replace: (id, values, owner) => write(replacement, id, withOwner([id, ...values], owner)),
    remove: (id, owner) => write(removal, id, withOwner([id], owner)),
    page: (limit, offset, owner, check) => readPage({ limit, offset, owner, check }),
  };
}

/** Returns the ids of the created records, which rise in the order of the writes. */
function createdIds(
  writes: readonly Values[],
  rows: readonly Row[],
  isOwned: boolean,
): (number | undefined)[] {
  const ids = rows.map((row) => Number(row.id)).sort((one, other) => one - other);
  if (!isOwned) return ids;
  const owners = new Set<unknown>(rows.map((row) => row.owner));
  let next = 0;
  return writes.map(([owner]) => (owners.has(owner) ? ids[next++] : undefined));
}

function wereFound(writes: readonly Values[], rows: readonly Row[], idPosition: number): boolean[] {
  const ids = new Set<unknown>(rows.map((row) => row.id));
  return writes.map((values) => ids.has(values[idPosition]));
}

interface RecordKey {
  readonly id: number;
  readonly owner: number;
}

/** Returns the batcher that reads single records with `sql`. */
function createReads(
  { owner: owned }: Resource,
  sql: string,
  database: Database,
  meter: BatchMeter | undefined,
) {
  // SQLite unpacks bare ids faster than arrays.
  const keyOf = ({ id, owner }: RecordKey) => (owned ? [owner, id] : id);
  /** Returns the beginning of a record's text, as `recordSql` writes it. */
  const beginningOf = ({ id, owner }: RecordKey) =>
    owned ? `{"id":${id},"${owned.column}":${owner},` : `{"id":${id},`;
  return new Batcher<RecordKey, string | undefined>({
    meter,
    async run(keys) {
      const [row] = await database.read({ sql, parameter: JSON.stringify(keys.map(keyOf)) });
      if (typeof row?.records !== 'string') throw new Error('the engine returned no records');
      // JSON text contains no raw line feed.
      const lines = row.records.split('\n');
      return keys.map((key, index) => recordIn(lines[index], beginningOf(key)));
    },
  });
}

/**
 * Returns the record in a line, or undefined for an empty line. Throws if it is another record:
 * SQLite does not guarantee the order.
 */
function recordIn(line: string | undefined, beginning: string): string | undefined {
  if (line === '') return undefined;
  if (!line?.startsWith(beginning))
    throw new Error('the engine returned the records in another order');
  return line;
}

/**
 * Returns the SQL of a table. The parameter is a JSON array with one element per record: create
 * takes [owner, ...fields], replace [owner, id, ...fields], read and remove [owner, id]. A table
 * without owners takes no `owner`, and reads take bare ids.
 */
function statementsOf(resource: Resource) {
  const { table, fields, owner } = resource;
  const stored = columnsOf(resource);
  const value = (index: number) => `value ->> ${index}`;
  const idPosition = owner ? 1 : 0;
  const [ownerValue, idValue] = [value(0), value(idPosition)];
  const andOwner = owner ? ` AND ${table}.${owner.column} = ${ownerValue}` : '';
  const hasKey = `${table}.id = ${idValue}${andOwner}`;
  const hasReadKey = owner ? hasKey : `${table}.id = value`;
  const lastId = `(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '${table}')`;
  const nextId = `${lastId} + key + 1`;
  const foundRows = `
    (SELECT json_group_array(json_object('id', ${table}.id))
     FROM json_each(?1) JOIN ${table} ON ${hasKey})`;
  return {
    // Ids are explicit (the last one given plus the position), because RETURNING has no order.
    create: {
      sql: `
        INSERT INTO ${table} (id, ${stored.join(', ')})
        SELECT ${nextId}, ${stored.map((_, index) => value(index)).join(', ')}
        FROM json_each(?1) WHERE ${ownerExistsSql(resource, ownerValue)}
        RETURNING id${owner ? `, ${owner.column} AS owner` : ''}`,
      rows: `
        (SELECT json_group_array(
           json_object('id', ${nextId}${owner ? `, 'owner', ${ownerValue}` : ''}))
         FROM json_each(?1) WHERE ${ownerExistsSql(resource, ownerValue)})`,
    },

    read: `
      SELECT group_concat(
        CASE WHEN ${table}.id IS NULL THEN '' ELSE ${recordSql(resource)} END, char(10)) AS records
      FROM json_each(?1) LEFT JOIN ${table} ON ${hasReadKey}`,

    replace: {
      sql: `
        UPDATE ${table} SET ${Object.keys(fields)
          .map((column, index) => `${column} = ${value(idPosition + 1 + index)}`)
          .join(', ')}
        FROM json_each(?1) WHERE ${hasKey}
        RETURNING ${table}.id`,
      rows: foundRows,
    },

    remove: {
      sql: `
        DELETE FROM ${table}
        WHERE ${owner ? `(${owner.column}, id)` : 'id'} IN
          (SELECT ${owner ? `${ownerValue}, ` : ''}${idValue} FROM json_each(?1)) RETURNING id`,
      rows: foundRows,
    },
  };
}
