// The engine for rqlite, which replicates SQLite with Raft. A batch is resent until a node answers:
// its first statement inserts its id, so that a second run fails, and its rows are stored with it.
import {
  type Database,
  DatabaseUnavailable,
  DatabaseUncertain,
  DatabaseUnusable,
  type Row,
  type Statement,
} from '../database.ts';
import type { ReadLevel } from '../location.ts';
import {
  SCHEMA_VERSION,
  storedSchema,
  UNFINISHED,
  VERSION,
  VERSIONS_TABLE,
} from '../schema/migrations.ts';
import { Cluster, type ClusterAddress, type Result, type Step } from './cluster.ts';

/**
 * rqlite 8.43.4 fails to roll back in two cases: after a failed statement that its parser takes for
 * one with RETURNING (hence `noparse`), and, in `request`, after a statement that SQLite cannot
 * compile (so only statements on existing tables go there).
 */
const EXECUTE = '/db/execute?transaction&redirect&noparse';
const EXECUTE_AND_QUERY = '/db/request?transaction&associative&redirect&noparse';
const QUERY = '/db/query?associative&redirect&noparse';

/** More batches than can follow one that is being resent. Not an age, because clocks differ. */
const KEPT_BATCHES = 20_000;

/** The tables of the engine itself, which are no part of the schema of the service. */
const BATCH_TABLES: readonly Step[] = [
  [VERSIONS_TABLE],
  ['CREATE TABLE IF NOT EXISTS notes_server_done (id TEXT PRIMARY KEY, rows TEXT NOT NULL) STRICT'],
];

const SELECT_ROWS = 'SELECT rows FROM notes_server_done WHERE id = ?1';

/** The message of SQLite if a batch is repeated. */
const DONE_ERROR = 'UNIQUE constraint failed: notes_server_done.id';

/** SQLite's message if {@link BEGIN_TO_SERVE} finds that the service must not write now. */
const FORBIDDEN_ERROR = 'NOT NULL constraint failed: notes_server_done.rows';

const beginSql = (rows: string) => `INSERT INTO notes_server_done (id, rows) VALUES (?1, ${rows})`;
const BEGIN = beginSql(`'[]'`);

/** Also fails if the schema is newer than this program, or if an import is unfinished. */
const BEGIN_TO_SERVE = beginSql(`
  iif(${VERSION} > ${SCHEMA_VERSION}
    OR (${UNFINISHED}), NULL, '[]')`);

const storeSql = (rows = `'[]'`) => `
  UPDATE notes_server_done SET rows = json_insert(rows, '$[#]', json(${rows})) WHERE id = ?2`;

const DELETE_OLD_BATCHES = `
  DELETE FROM notes_server_done
  WHERE rowid <= (SELECT max(rowid) FROM notes_server_done) - ${KEPT_BATCHES}`;

const FOREIGN_KEYS: Statement = { sql: 'SELECT foreign_keys AS enforced FROM pragma_foreign_keys' };
const PING: Statement = { sql: 'SELECT count(*) AS tables FROM sqlite_schema' };

/** Opens a cluster as {@link storedSchema} does; rejects if it lacks -fk or, `toRead`, is empty. */
export async function openRqlite(
  address: ClusterAddress,
  level: ReadLevel,
  { toRead = false } = {},
): Promise<Database> {
  const cluster = new Cluster(address);
  try {
    const { version } = await storedSchema((statement) => query(cluster, statement));
    if (toRead && version === 0) throw new DatabaseUnusable('it is empty');
    const [foreignKeys] = await query(cluster, FOREIGN_KEYS);
    if (foreignKeys?.enforced !== 1)
      throw new DatabaseUnusable('its nodes must be started with -fk');
    if (!toRead) await execute(cluster, EXECUTE, BATCH_TABLES);
  } catch (error) {
    cluster.close();
    throw error;
  }
  return {
    read: (statement) => query(cluster, statement, level),
    transact: (batchId, statements) => transact(cluster, batchId, statements),
    ping: async () => void (await query(cluster, PING, level)),
    close: async () => cluster.close(),
  };
}

async function query(
  cluster: Cluster,
  statement: Statement,
  level: ReadLevel = 'linearizable',
): Promise<readonly Row[]> {
  const [result] = checked(await cluster.send(`${QUERY}&level=${level}`, [toStep(statement)]));
  return result?.rows ?? [];
}

async function transact(
  cluster: Cluster,
  batchId: string,
  statements: readonly Statement[],
): Promise<readonly (readonly Row[])[]> {
  // The statements of the service return rows, those of commands do not.
  const hasRows = statements.some(({ rows }) => rows !== undefined);
  const steps = toSteps(batchId, statements, hasRows);
  try {
    const results = await execute(cluster, hasRows ? EXECUTE_AND_QUERY : EXECUTE, steps);
    return hasRows ? parseRows(results.at(-1)?.rows) : statements.map(() => []);
  } catch (error) {
    if (error instanceof DatabaseUncertain) throw error;
    const isDone = (error as Error).message === DONE_ERROR;
    if (!hasRows) {
      if (isDone) return statements.map(() => []);
      throw error;
    }
    const rows = await storedRows(cluster, batchId);
    if (isDone && rows) return rows;
    if (!isDone && !rows) throw error;
    throw new DatabaseUncertain('a batch may have been carried out in part', { cause: error });
  }
}

/** Resolves with the rows of a batch that was carried out; undefined if it was not. */
async function storedRows(cluster: Cluster, batchId: string): Promise<Row[][] | undefined> {
  try {
    const stored = await query(cluster, { sql: SELECT_ROWS, parameter: batchId });
    return stored.length === 0 ? undefined : parseRows(stored);
  } catch (error) {
    throw new DatabaseUncertain('the outcome of a batch cannot be read', { cause: error });
  }
}

async function execute(
  cluster: Cluster,
  path: string,
  steps: readonly Step[],
): Promise<readonly Result[]> {
  const results = await cluster.send(path, steps).catch((cause) => {
    throw new DatabaseUncertain('the cluster has not reported the outcome of a batch', { cause });
  });
  return checked(results);
}

function checked(results: readonly Result[]): readonly Result[] {
  const error = results.find((result) => result.error !== undefined)?.error;
  if (error === undefined) return results;
  if (error === FORBIDDEN_ERROR)
    throw new DatabaseUnavailable('a newer version or an import has taken over the database');
  throw /\b(?:full|locked|busy|timeout|I\/O)\b/.test(error)
    ? new DatabaseUnavailable(error)
    : new Error(error);
}

/** Returns a batch as the cluster carries it out: each foretold row is stored before its write. */
function toSteps(batchId: string, statements: readonly Statement[], hasRows: boolean): Step[] {
  const steps: Step[] = [[hasRows ? BEGIN_TO_SERVE : BEGIN, batchId]];
  for (const statement of statements) {
    const { parameter = '', rows } = statement;
    if (hasRows) steps.push([storeSql(rows), rows ? parameter : '', batchId]);
    steps.push(toStep(statement));
  }
  steps.push([DELETE_OLD_BATCHES]);
  if (hasRows) steps.push([SELECT_ROWS, batchId]);
  return steps;
}

function toStep({ sql, parameter }: Statement): Step {
  return parameter === undefined ? [sql] : [sql, parameter];
}

function parseRows(stored: readonly Row[] | null | undefined): Row[][] {
  return JSON.parse(String(stored?.[0]?.rows));
}
