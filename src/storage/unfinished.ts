// Marks in a database that is being filled: as long as one is there its data are not all there, and no service starts on it.
import type { Database, Statement } from './database.ts';

/** A database that is read and not changed. */
export type Source = Pick<Database, 'read'>;

/** What fills a database in more than one transaction. */
export type Filling = 'copy' | 'import';

const FILLINGS: readonly Filling[] = ['copy', 'import'];
const TABLES = FILLINGS.map(tableOf);

/** SQL that tells whether something that fills the database was begun and has not been finished. */
export const UNFINISHED = `SELECT count(*) > 0 FROM sqlite_schema WHERE name IN ('${TABLES.join("', '")}')`;

/** Resolves with what was begun to fill the database and has not been finished, if anything. */
export async function unfinishedIn({ read }: Source): Promise<Filling | undefined> {
  const [row] = await read({ sql: `SELECT name FROM sqlite_schema WHERE name IN ('${TABLES.join("', '")}')` });
  return FILLINGS.find((filling) => tableOf(filling) === row?.name);
}

/** Rejects where something was begun to fill the database, but `allowed`, and has not been finished. */
export async function refuseUnfinished(database: Source, allowed?: Filling): Promise<void> {
  const found = await unfinishedIn(database);
  if (found && found !== allowed) {
    throw new Error(`${found === 'copy' ? 'a copy' : 'an import'} into it was not finished: run it again`);
  }
}

/** What marks that `filling` has begun; does nothing where it has already. */
export function markBegun(filling: Filling): Statement {
  return { sql: `CREATE TABLE IF NOT EXISTS ${tableOf(filling)} (begun INTEGER) STRICT` };
}

/** What marks, as {@link markBegun} does, that an import has begun of the lines with this number, if no other has before. */
export function markImport(lines: number): Statement[] {
  const table = tableOf('import');
  const insert = `INSERT INTO ${table} (begun) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM ${table})`;
  return [markBegun('import'), { sql: insert, parameter: String(lines) }];
}

/** Rejects where an import of other lines than those with this number was begun, and has not been finished. */
export async function refuseOtherImport(database: Source, lines: number): Promise<void> {
  if ((await unfinishedIn(database)) !== 'import') return;
  const [mark] = await database.read({ sql: `SELECT begun FROM ${tableOf('import')}` });
  if (mark && Number(mark.begun) !== lines) {
    throw new Error('an import of another file into it was not finished: run that one again first');
  }
}

/** What takes the mark away. */
export function markFinished(filling: Filling): Statement {
  return { sql: `DROP TABLE IF EXISTS ${tableOf(filling)}` };
}

function tableOf(filling: Filling): string {
  return `notes_server_${filling}`;
}
