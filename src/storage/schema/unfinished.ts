// Marks a database while an import or a copy fills it, so that no service starts on incomplete
// data. The mark is a table.
import type { Source, Statement } from '../database.ts';

/** A command that fills a database in several transactions. */
export type BulkLoad = 'copy' | 'import';

const BULK_LOADS: readonly BulkLoad[] = ['copy', 'import'];
const MARKS = `sqlite_schema
  WHERE name IN (${BULK_LOADS.map((load) => `'${tableOf(load)}'`).join(', ')})`;

/** The SQL query that returns whether a bulk load is unfinished. */
export const UNFINISHED = `SELECT count(*) > 0 FROM ${MARKS}`;

/** Resolves with the bulk load that is unfinished, if any. */
export async function unfinishedIn({ read }: Source): Promise<BulkLoad | undefined> {
  const [row] = await read({ sql: `SELECT name FROM ${MARKS}` });
  return BULK_LOADS.find((load) => tableOf(load) === row?.name);
}

/** Returns what is wrong with a database in which a bulk load is unfinished. */
export function describeUnfinished(load: BulkLoad): string {
  return `it holds an unfinished ${load}: run the ${load} again`;
}

/** Rejects if a bulk load other than `allowed` is unfinished. */
export async function refuseUnfinished(database: Source, allowed?: BulkLoad): Promise<void> {
  const found = await unfinishedIn(database);
  if (found && found !== allowed) throw new Error(describeUnfinished(found));
}

/** Returns the statement that marks the database; it has no effect if this mark exists. */
export function markUnfinished(load: BulkLoad): Statement {
  const comment = `/* this database holds an unfinished ${load}: run the ${load} again */`;
  const table = tableOf(load);
  const columns = 'begun INTEGER, base INTEGER';
  return { sql: `CREATE TABLE IF NOT EXISTS ${table} (${comment} ${columns}) STRICT` };
}

/** Returns the statements that mark an import with its fingerprint and its base. */
export function markImport(fingerprint: number, base: number): Statement[] {
  const insert = `INSERT INTO ${tableOf('import')} (begun, base) VALUES (?1 ->> 0, ?1 ->> 1)`;
  const parameter = JSON.stringify([fingerprint, base]);
  return [removeMark('import'), markUnfinished('import'), { sql: insert, parameter }];
}

/**
 * Resolves with the base of the unfinished import; with undefined if there is none, or if a program
 * of version 1 has marked it. Rejects if its fingerprint is another one.
 */
export async function unfinishedBase(
  database: Source,
  fingerprint: number,
): Promise<number | undefined> {
  if ((await unfinishedIn(database)) !== 'import') return undefined;
  const [mark] = await database.read({ sql: `SELECT * FROM ${tableOf('import')}` });
  if (mark && Number(mark.begun) !== fingerprint)
    throw new Error('it holds an unfinished import of another file: finish that import first');
  return mark?.base == null ? undefined : Number(mark.base);
}

/** Returns the statement that removes the mark. */
export function removeMark(load: BulkLoad): Statement {
  return { sql: `DROP TABLE IF EXISTS ${tableOf(load)}` };
}

function tableOf(load: BulkLoad): string {
  return `notes_server_${load}`;
}
