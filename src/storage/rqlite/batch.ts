// Makes a batch safe to resend when its answer is lost: its first statement inserts its id, so a
// second run fails. The rows of its statements are stored with the id, where they can be read.
import type { Row, Statement } from '../database.ts';
import { SCHEMA_VERSION, VERSION, VERSIONS_TABLE } from '../schema/migrations.ts';
import { UNFINISHED } from '../schema/unfinished.ts';
import type { Step } from './cluster.ts';

/** More batches than can follow one that is being resent. Not an age, because clocks differ. */
const KEPT_BATCHES = 20_000;

/** The SQL that creates the tables that every batch needs. */
export const BATCH_TABLES = [
  VERSIONS_TABLE,
  'CREATE TABLE IF NOT EXISTS notes_server_done (id TEXT PRIMARY KEY, rows TEXT NOT NULL) STRICT',
];

/** Reads the stored rows of a batch. */
export const SELECT_ROWS = 'SELECT rows FROM notes_server_done WHERE id = ?1';

/** SQLite's message if the batch has already been carried out. */
export const DONE_ERROR = 'UNIQUE constraint failed: notes_server_done.id';

/** SQLite's message if {@link BEGIN_TO_SERVE} finds that the service must not write now. */
export const FORBIDDEN_ERROR = 'NOT NULL constraint failed: notes_server_done.rows';

const beginSql = (rows: string) => `INSERT INTO notes_server_done (id, rows) VALUES (?1, ${rows})`;
const BEGIN = beginSql(`'[]'`);

/** Also fails if the schema is newer than this program, or if an import is unfinished. */
const BEGIN_TO_SERVE = beginSql(`
  iif(${VERSION} > ${SCHEMA_VERSION}
    OR (${UNFINISHED}), NULL, '[]')`);

const DELETE_OLD_BATCHES = `
  DELETE FROM notes_server_done
  WHERE rowid <= (SELECT max(rowid) FROM notes_server_done) - ${KEPT_BATCHES}`;

/** Whether a statement returns rows: those of the service do, those of commands do not. */
export function needsRows(statements: readonly Statement[]): boolean {
  return statements.some(({ rows }) => rows !== undefined);
}

/** Returns the steps of a batch. If it {@link needsRows}, the last step reads the stored rows. */
export function toSteps(batchId: string, statements: readonly Statement[]): Step[] {
  const hasRows = needsRows(statements);
  return [
    [hasRows ? BEGIN_TO_SERVE : BEGIN, batchId],
    ...statements.flatMap((statement): Step[] => {
      const { parameter, rows } = statement;
      const input = (rows && parameter) ?? '';
      const store: Step[] = hasRows ? [[storeSql(rows), input, batchId]] : [];
      return [...store, toStep(statement)];
    }),
    [DELETE_OLD_BATCHES],
    ...(hasRows ? [[SELECT_ROWS, batchId] as const] : []),
  ];
}

/** Returns the step that runs a statement. */
export function toStep({ sql, parameter }: Statement): Step {
  return parameter === undefined ? [sql] : [sql, parameter];
}

/** Returns the rows of each statement. */
export function parseRows(stored: readonly Row[] | null | undefined): Row[][] {
  return JSON.parse(String(stored?.[0]?.rows));
}

function storeSql(rows = `'[]'`): string {
  return `
    UPDATE notes_server_done SET rows = json_insert(rows, '$[#]', json(${rows})) WHERE id = ?2`;
}
