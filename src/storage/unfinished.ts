// Marks a database while an import or a copy fills it, so that no service starts on incomplete
// data. The mark is a table.
import type { Database, Statement } from './database.ts';

/** A database to read from. */
export type Source = Pick<Database, 'read'>;

/** A command that fills a database in several transactions. */
export type Filling = 'copy' | 'import';

const FILLINGS: readonly Filling[] = ['copy', 'import'];
const MARKS = `sqlite_schema
  WHERE name IN (${FILLINGS.map((filling) => `'${tableOf(filling)}'`).join(', ')})`;

/** The SQL query that returns whether a filling is unfinished. */
export const UNFINISHED = `SELECT count(*) > 0 FROM ${MARKS}`;

/** Resolves with the filling that is unfinished, if any. */
export async function unfinishedIn({ read }: Source): Promise<Filling | undefined> {
  const [row] = await read({ sql: `SELECT name FROM ${MARKS}` });
  return FILLINGS.find((filling) => tableOf(filling) === row?.name);
}

/** Rejects if a filling other than `allowed` is unfinished. */
export async function refuseUnfinished(database: Source, allowed?: Filling): Promise<void> {
  const found = await unfinishedIn(database);
  if (found && found !== allowed)
    throw new Error(`it holds an unfinished ${found}: run the ${found} again`);
}

/** Returns the statement that marks the database; it has no effect if this mark exists. */
export function markBegun(filling: Filling): Statement {
  const comment = `/* this database holds an unfinished ${filling}: run the ${filling} again */`;
  const table = tableOf(filling);
  return { sql: `CREATE TABLE IF NOT EXISTS ${table} (${comment} begun INTEGER) STRICT` };
}

/** Returns the statements that mark an import with its fingerprint; an existing mark stays. */
export function markImport(fingerprint: number): Statement[] {
  const table = tableOf('import');
  const insert = `INSERT INTO ${table} (begun) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM ${table})`;
  return [markBegun('import'), { sql: insert, parameter: String(fingerprint) }];
}

/** Rejects if an import with another fingerprint is unfinished. */
export async function refuseOtherImport(database: Source, fingerprint: number): Promise<void> {
  if ((await unfinishedIn(database)) !== 'import') return;
  const [mark] = await database.read({ sql: `SELECT begun FROM ${tableOf('import')}` });
  if (mark && Number(mark.begun) !== fingerprint)
    throw new Error('it holds an unfinished import of another file: finish that import first');
}

/** Returns the statement that removes the mark. */
export function markFinished(filling: Filling): Statement {
  return { sql: `DROP TABLE IF EXISTS ${tableOf(filling)}` };
}

function tableOf(filling: Filling): string {
  return `notes_server_${filling}`;
}
