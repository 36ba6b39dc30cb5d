// A batch that can be sent to rqlite again: its first statement inserts its id, so that a second
// run fails, and each statement stores the rows that it returns beside the id, so that a lost
// answer can be read.
import type { Row, Statement } from '../database.ts';
import { SCHEMA_VERSION, VERSIONS_TABLE } from '../migrations.ts';
import { UNFINISHED } from '../unfinished.ts';
import type { Step } from './cluster.ts';

/** While a batch may be repeated, fewer batches than this follow. A count needs no clocks. */
const REMEMBERED_BATCHES = 20_000;

/** The SQL that creates the tables which batches need. */
export const BATCH_TABLES = [
  VERSIONS_TABLE,
  'CREATE TABLE IF NOT EXISTS notes_server_done (id TEXT PRIMARY KEY, rows TEXT NOT NULL) STRICT',
];

/** The SQL that reads the rows of the batch with the id `?1`. */
export const ROWS = 'SELECT rows FROM notes_server_done WHERE id = ?1';

/** SQLite's error for a batch that has been carried out already. */
export const DONE = 'UNIQUE constraint failed: notes_server_done.id';

/** SQLite's error for a batch that the service must not carry out now. */
export const FORBIDDEN = 'NOT NULL constraint failed: notes_server_done.rows';

const beginSql = (rows: string) => `INSERT INTO notes_server_done (id, rows) VALUES (?1, ${rows})`;
const BEGIN = beginSql(`'[]'`);

/** Fails if the schema is newer than this program, or an import or a copy is unfinished. */
const BEGIN_TO_SERVE = beginSql(`
  iif((SELECT coalesce(max(version), 0) FROM notes_server_versions) > ${SCHEMA_VERSION}
    OR (${UNFINISHED}), NULL, '[]')`);

const FORGET = `
  DELETE FROM notes_server_done
  WHERE rowid <= (SELECT max(rowid) FROM notes_server_done) - ${REMEMBERED_BATCHES}`;

/** Whether the rows of the statements are needed: by the service, but not by commands. */
export function needsRows(statements: readonly Statement[]): boolean {
  return statements.some(({ rows }) => rows !== undefined);
}

/** Returns the steps of a batch. If it {@link needsRows}, its last step returns them. */
export function stepsOf(batchId: string, statements: readonly Statement[]): Step[] {
  const hasRows = needsRows(statements);
  return [
    [hasRows ? BEGIN_TO_SERVE : BEGIN, batchId],
    ...statements.flatMap((statement): Step[] => {
      const { parameter, rows } = statement;
      const store: Step[] = hasRows ? [[storeSql(rows), parameter ?? '', batchId]] : [];
      return [...store, stepOf(statement)];
    }),
    [FORGET],
    ...(hasRows ? [[ROWS, batchId] as const] : []),
  ];
}

/** Returns the step of one statement. */
export function stepOf({ sql, parameter }: Statement): Step {
  return parameter === undefined ? [sql] : [sql, parameter];
}

/** Parses the result of {@link ROWS}: the rows of each statement. */
export function parseRows(stored: readonly Row[] | null | undefined): Row[][] {
  return JSON.parse(String(stored?.[0]?.rows));
}

/** Returns the SQL that stores the rows which the next statement is about to return. */
function storeSql(rows = `'[]'`): string {
  return `
    UPDATE notes_server_done SET rows = json_insert(rows, '$[#]', json(${rows})) WHERE id = ?2`;
}
