// rqlite, which replicates SQLite with Raft. A batch is resent until a node answers.
import {
  type Database,
  DatabaseUnavailable,
  DatabaseUncertain,
  DatabaseUnusable,
  type Row,
  type Statement,
} from '../database.ts';
import { storedSchema } from '../schema/migrations.ts';
import type { ReadLevel } from './address.ts';
import {
  BATCH_TABLES,
  DONE_ERROR,
  FORBIDDEN_ERROR,
  needsRows,
  parseRows,
  SELECT_ROWS,
  toStep,
  toSteps,
} from './batch.ts';
import { Cluster, type ClusterAddress, type Result, type Step } from './cluster.ts';

/**
 * rqlite 8.43.4 fails to roll back in two cases: after a failed statement that its parser takes for
 * one with RETURNING (hence `noparse`), and, in `request`, after a statement that SQLite cannot
 * compile (so only statements on existing tables go there).
 */
const EXECUTE = '/db/execute?transaction&redirect&noparse';
const EXECUTE_AND_QUERY = '/db/request?transaction&associative&redirect&noparse';
const QUERY = '/db/query?associative&redirect&noparse';

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
    const steps = BATCH_TABLES.map((sql): Step => [sql]);
    if (!toRead) await execute(cluster, EXECUTE, steps);
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
  const steps = toSteps(batchId, statements);
  const hasRows = needsRows(statements);
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
  const results = await cluster.send(path, steps).catch((error) => {
    throw new DatabaseUncertain('the cluster has not reported the outcome of a batch', {
      cause: error,
    });
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
