// Reads and writes whole databases page by page, so that texts and transactions stay small.

import { columnsOf, keysOf, type Relation } from './resources/relation.ts';
import { RESOURCES } from './resources/resources.ts';
import { isKeptSql } from './schema/kept-rows.ts';
import type { Source, Statement } from './storage/database.ts';
import { CHANGE_COLUMNS, CHANGES } from './storage/numbers.ts';
import { storedSchema } from './storage/schema/migrations.ts';
import { RELATIONS, STEPS } from './storage/schema/steps.ts';

/** The limits of a page; its last record may exceed `bytes`. */
const PAGE = { records: 2_048, bytes: 1_048_576 };

/** Below the ids of all records: another program may have written ids below 1. */
export const LOWEST = String(-(2n ** 63n));

/** What is wrong with a database in which an import is unfinished. */
export const UNFINISHED_IMPORT = 'it holds an unfinished import: run the import again';

export type NumbersByTable = Readonly<Record<string, number>>;

export type Rows = readonly (readonly unknown[])[];

/** Neighbouring rows of a relation. */
export interface RowRange {
  /** The exact ids before the first row and of the last: the parameter of {@link isOnPage}. */
  readonly bounds: readonly [after: string, last: string];
  readonly count: number;
}

/** Yields the pages of a relation after an id, in ascending order of their ids. */
export async function* pagesOf(
  { read }: Source,
  relation: Relation,
  first = LOWEST,
): AsyncGenerator<RowRange, undefined> {
  const { table } = relation;
  const [key] = keysOf(relation);
  const size = columnsOf(relation).map((column) => `ifnull(octet_length(${column}), 0)`);
  const sql = `
    SELECT CAST(last AS TEXT) AS last,
      (SELECT count(*) FROM ${table} WHERE ${key} > (?1 ->> 0) AND ${key} <= last) AS count
    FROM (SELECT max(id) AS last
          FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before
                FROM (SELECT ${key} AS id, ${size.join(' + ')} AS size FROM ${table}
                      WHERE ${key} > (?1 ->> 0) ORDER BY ${key} LIMIT (?1 ->> 1)))
          WHERE before < (?1 ->> 2))`;
  for (let after = first; ; ) {
    const [row] = await read({ sql, parameter: JSON.stringify([after, PAGE.records, PAGE.bytes]) });
    if (row?.last == null) return undefined;
    const last = String(row.last);
    yield { bounds: [after, last], count: Number(row.count) };
    after = last;
  }
}

/** Returns the SQL condition of a page. All tags on a note are on one page. */
export function isOnPage(relation: Relation): string {
  const [key] = keysOf(relation);
  return `${key} > (?1 ->> 0) AND ${key} <= (?1 ->> 1)`;
}

/** Resolves with the rows on a page, each with the values of all columns. */
export async function rowsOn({ read }: Source, relation: Relation, page: RowRange): Promise<Rows> {
  const columns = columnsOf(relation).join(', ');
  const sql = `SELECT ${columns} FROM ${relation.table} WHERE ${isOnPage(relation)}`;
  const rows = await read({ sql, parameter: JSON.stringify(page.bounds) });
  return rows.map((row) => Object.values(row));
}

/** Returns the statement that inserts rows, each with the values of all columns. */
export function insertion(relation: Relation, rows: Rows): Statement {
  const changes = 'path' in relation ? CHANGE_COLUMNS : [];
  return insertionInto(relation.table, [...columnsOf(relation), ...changes], rows);
}

/** Returns the statement that inserts rows with the values of these columns. */
export function insertionInto(table: string, columns: readonly string[], rows: Rows): Statement {
  const values = columns.map((_, index) => `value ->> ${index}`);
  return {
    sql: `
      INSERT INTO ${table} (${columns.join(', ')})
      SELECT ${values.join(', ')} FROM json_each(?1)`,
    parameter: JSON.stringify(rows),
  };
}

/** Resolves with the relations that a database has, with its fields: its schema may be older. */
export async function relationsIn({ read }: Source): Promise<readonly Relation[]> {
  const { version } = await storedSchema(read);
  const earlier = STEPS.slice(0, version).join('\n');
  const later = STEPS.slice(version).join('\n');
  const isCreated = ({ table }: Relation) =>
    new RegExp(`^CREATE TABLE ${table}\\b`, 'm').test(earlier);
  return RELATIONS.filter(isCreated).map((relation) => {
    const addition = `ALTER TABLE ${relation.table} ADD COLUMN`;
    const fields = Object.entries(relation.fields);
    const stored = fields.filter(([name]) => !later.includes(`${addition} ${name} `));
    return { ...relation, fields: Object.fromEntries(stored) };
  });
}

/** Counts the rows of each relation that a database has, without those that are erased. */
export async function countsOf(source: Source): Promise<NumbersByTable> {
  const { read } = source;
  const relations = await relationsIn(source);
  const counts = relations.map(
    (each) => `(SELECT count(*) FROM ${each.table} WHERE ${isKeptSql(each)}) AS ${each.table}`,
  );
  const [row] = await read({ sql: `SELECT ${counts.join(', ')}` });
  return { ...row } as NumbersByTable;
}

/** Returns the number of rows in all tables. */
export function totalOf(counts: NumbersByTable): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** The tables whose last ids an export states: no id or number may be used again. */
export const SEQUENCES = [...RESOURCES.map(({ table }) => table), CHANGES];

/** Resolves with the last id of each of them, if any has been assigned. */
export async function lastIdsOf({ read }: Source): Promise<NumbersByTable> {
  const found = await read({
    sql: `SELECT name, seq FROM sqlite_sequence
          WHERE seq > 0 AND name IN (SELECT value FROM json_each(?1)) ORDER BY name`,
    parameter: JSON.stringify(SEQUENCES),
  });
  return Object.fromEntries(found.map(({ name, seq }) => [String(name), Number(seq)]));
}
