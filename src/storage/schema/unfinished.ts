// A table marks a database while an import fills it, so that no service starts on a part.
import type { Source, Statement } from '../database.ts';

const MARK = 'notes_server_import';

/** What is wrong with a database in which an import is unfinished. */
export const UNFINISHED_IMPORT = 'it holds an unfinished import: run the import again';

/** The query that tells whether an import is unfinished. */
export const UNFINISHED = `SELECT count(*) > 0 AS found FROM sqlite_schema WHERE name = '${MARK}'`;

/** The statements that mark the database. They fail if there is a mark, or any id was assigned. */
export const MARK_UNFINISHED: readonly Statement[] = [
  { sql: `CREATE TABLE ${MARK} (/* ${UNFINISHED_IMPORT} */ is_empty INTEGER NOT NULL) STRICT` },
  {
    sql: `INSERT INTO ${MARK} (is_empty) SELECT iif(max(seq) > 0, NULL, 1) FROM sqlite_sequence`,
  },
];

/** The statement that removes the mark. */
export const REMOVE_MARK: Statement = { sql: `DROP TABLE ${MARK}` };

/** Whether an import is unfinished. */
export async function isUnfinished({ read }: Source): Promise<boolean> {
  const [row] = await read({ sql: UNFINISHED });
  return row?.found === 1;
}

/** Rejects if an import is unfinished. */
export async function refuseUnfinished(source: Source): Promise<void> {
  if (await isUnfinished(source)) throw new Error(UNFINISHED_IMPORT);
}
