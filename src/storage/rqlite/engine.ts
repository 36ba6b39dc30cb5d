// The distributed engine: rqlite, which replicates SQLite with Raft. A batch is sent again until a
// node answers, and is carried out once.
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

/**
 * Opens the database of the cluster at `address`. Rejects with DatabaseUnavailable if no node can
 * serve, and with DatabaseUnusable, without changing it, if its nodes lack -fk, as
 * {@link storedSchema} does, and, with `toRead`, if it is empty.
 */
export async function openRqlite(
  address: ClusterAddress,
  level: ReadLevel,
  { toRead = false } = {},
): Promise<Database> {
  const engine = new Engine(new Cluster(address), level);
  try {
    await engine.prepare(toRead);
  } catch (error) {
    engine.close();
    throw error;
  }
  return {
    read: (statement) => engine.query(statement),
    transact: (batchId, statements) => engine.transact(batchId, statements),
    ping: async () => void (await engine.query(PING)),
    close: async () => engine.close(),
  };
}

class Engine {
  readonly #cluster: Cluster;
  readonly #level: ReadLevel;

  constructor(cluster: Cluster, level: ReadLevel) {
    this.#cluster = cluster;
    this.#level = level;
  }

  async prepare(toRead: boolean): Promise<void> {
    const { version } = await storedSchema((statement) => this.query(statement, 'linearizable'));
    if (toRead && version === 0) throw new DatabaseUnusable('it is empty');
    const [foreignKeys] = await this.query(FOREIGN_KEYS);
    if (foreignKeys?.enforced !== 1)
      throw new DatabaseUnusable('its nodes must be started with -fk');
    const steps = BATCH_TABLES.map((sql): Step => [sql]);
    if (!toRead) await this.#execute(EXECUTE, steps);
  }

  async query(statement: Statement, level = this.#level): Promise<readonly Row[]> {
    const [result] = checked(
      await this.#cluster.send(`${QUERY}&level=${level}`, [toStep(statement)]),
    );
    return result?.rows ?? [];
  }

  async transact(
    batchId: string,
    statements: readonly Statement[],
  ): Promise<readonly (readonly Row[])[]> {
    const steps = toSteps(batchId, statements);
    if (needsRows(statements)) return this.#transactWithRows(batchId, steps);
    await this.#execute(EXECUTE, steps).catch((error) => {
      if (!isDone(error)) throw error;
    });
    return statements.map(() => []);
  }

  close(): void {
    this.#cluster.close();
  }

  async #transactWithRows(batchId: string, steps: readonly Step[]): Promise<Row[][]> {
    try {
      const results = await this.#execute(EXECUTE_AND_QUERY, steps);
      return parseRows(results.at(-1)?.rows);
    } catch (error) {
      if (error instanceof DatabaseUncertain) throw error;
      const rows = await this.#storedRows(batchId);
      if (isDone(error) && rows) return rows;
      if (!isDone(error) && !rows) throw error;
      throw new DatabaseUncertain('a batch may have been carried out in part', { cause: error });
    }
  }

  /** Resolves with the rows that a batch has stored, or undefined if it was not carried out. */
  async #storedRows(batchId: string): Promise<Row[][] | undefined> {
    try {
      const stored = await this.query({ sql: SELECT_ROWS, parameter: batchId }, 'linearizable');
      return stored.length === 0 ? undefined : parseRows(stored);
    } catch (error) {
      throw new DatabaseUncertain('the outcome of a batch cannot be read', { cause: error });
    }
  }

  async #execute(path: string, steps: readonly Step[]): Promise<readonly Result[]> {
    const results = await this.#cluster.send(path, steps).catch((error) => {
      throw new DatabaseUncertain('the cluster has not reported the outcome of a batch', {
        cause: error,
      });
    });
    return checked(results);
  }
}

function isDone(error: unknown): boolean {
  return (error as Error).message === DONE_ERROR;
}

/** Returns the results; throws the first error among them. */
function checked(results: readonly Result[]): readonly Result[] {
  const error = results.find((result) => result.error !== undefined)?.error;
  if (error === undefined) return results;
  if (error === FORBIDDEN_ERROR)
    throw new DatabaseUnavailable('a newer version or an import has taken over the database');
  throw /\b(?:full|locked|busy|timeout|I\/O)\b/.test(error)
    ? new DatabaseUnavailable(error)
    : new Error(error);
}
