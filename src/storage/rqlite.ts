// The distributed engine: rqlite, which is SQLite replicated by Raft and spoken to over HTTP. A batch carries its id, and
// leaves its rows beside it in the same transaction: it may be sent again until somebody answers, and is carried out once.
// Where nothing goes wrong, one request does it all.
import {
  type Database,
  DatabaseUnavailable,
  DatabaseUncertain,
  DatabaseUnusable,
  type Row,
  type Statement,
} from './database.ts';
import { SCHEMA_VERSION, storedVersion, VERSIONS_TABLE } from './migrations.ts';
import { type ClusterAddress, createCluster, type Result, type Step } from './rqlite-cluster.ts';
import { UNFINISHED } from './unfinished.ts';

/**
 * How fresh reads are (rqlite's read consistency). `linearizable`: a leader asks the others whether it still is one, and has
 * first carried out all that was acknowledged. `weak`: it does not, so for a moment after a start or an election it may answer
 * without the latest writes.
 */
export type ReadLevel = 'linearizable' | 'weak';

/** A batch is sent again for some seconds at most; so many later ones do not come in that time. No clock has a say in it. */
const REMEMBERED = 20_000;

const BATCHES = [
  VERSIONS_TABLE,
  'CREATE TABLE IF NOT EXISTS notes_server_done (id TEXT PRIMARY KEY, rows TEXT NOT NULL) STRICT',
];

/**
 * Unparsed: a statement that rqlite takes for one with RETURNING is not rolled back when it fails (8.43.4). Nor is, where rows
 * are asked for as well, a transaction with a statement that SQLite does not understand: only what knows its tables goes there.
 */
const EXECUTE = '/db/execute?transaction&redirect&noparse';
const EXECUTE_AND_QUERY = '/db/request?transaction&associative&redirect&noparse';
const QUERY = '/db/query?associative&redirect&noparse';

const begin = (rows: string) => `INSERT INTO notes_server_done (id, rows) VALUES (?1, ${rows})`;
const BEGIN = begin(`'[]'`);

/** Fails, and all that follows with it, where a program must not write that knows other tables, or while they are copied. */
const BEGIN_TO_SERVE = begin(`
  iif((SELECT coalesce(max(version), 0) FROM notes_server_versions) > ${SCHEMA_VERSION} OR (${UNFINISHED}), NULL, '[]')`);

const FORGET = `DELETE FROM notes_server_done WHERE rowid <= (SELECT max(rowid) FROM notes_server_done) - ${REMEMBERED}`;
const ROWS = 'SELECT rows FROM notes_server_done WHERE id = ?1';

/** What SQLite says of a batch that has been carried out already. */
const DONE = 'UNIQUE constraint failed: notes_server_done.id';

/** And of one that must not be carried out. */
const MUST_NOT = 'NOT NULL constraint failed: notes_server_done.rows';

const FOREIGN_KEYS: Statement = { sql: 'SELECT foreign_keys AS minded FROM pragma_foreign_keys' };

/**
 * Opens the database of the cluster at `address`. Rejects with DatabaseUnavailable when none of its nodes can serve, and as
 * {@link storedVersion} does for one that is not ours, which stays as it is; also for an empty one, if it is only `toRead`.
 */
export async function openRqlite(
  address: ClusterAddress,
  level: ReadLevel,
  { toRead = false } = {},
): Promise<Database> {
  const cluster = createCluster(address);

  async function query({ sql, parameter }: Statement, freshness = level): Promise<readonly Row[]> {
    const step: Step = parameter === undefined ? [sql] : [sql, parameter];
    const [result] = checked(await cluster.send(`${QUERY}&level=${freshness}`, [step]));
    return result?.rows ?? [];
  }

  async function execute(path: string, steps: readonly Step[]): Promise<readonly Result[]> {
    const results = await cluster.send(path, steps).catch((error) => {
      throw new DatabaseUncertain('the cluster has not told whether a batch was carried out', { cause: error });
    });
    return checked(results);
  }

  /** The rows that are kept beside a batch, undefined where it has not been carried out. */
  async function keptRows(batchId: string): Promise<Row[][] | undefined> {
    try {
      const rows = await query({ sql: ROWS, parameter: batchId }, 'linearizable');
      return rows.length === 0 ? undefined : rowsIn(rows);
    } catch (error) {
      // As if nothing had been done it must not look.
      throw new DatabaseUncertain('what became of a batch cannot be read', { cause: error });
    }
  }

  const database: Database = {
    read: (statement) => query(statement),

    async transact(batchId, statements) {
      // The service's own writes have; what makes the tables, or fills them before it serves, has not.
      const hasRows = statements.some(({ rows }) => rows !== undefined);
      const steps = statements.flatMap(({ sql, parameter, rows }): Step[] => [
        ...(hasRows ? [[keep(rows), parameter ?? '', batchId] as const] : []),
        parameter === undefined ? [sql] : [sql, parameter],
      ]);
      const batch: Step[] = [[hasRows ? BEGIN_TO_SERVE : BEGIN, batchId], ...steps, [FORGET]];
      try {
        if (hasRows) return rowsIn((await execute(EXECUTE_AND_QUERY, [...batch, [ROWS, batchId]])).at(-1)?.rows);
        await execute(EXECUTE, batch);
      } catch (error) {
        if (error instanceof DatabaseUncertain) throw error;
        const isDone = (error as Error).message === DONE;
        if (hasRows) {
          const kept = await keptRows(batchId);
          if (isDone && kept) return kept;
          if (isDone || kept)
            throw new DatabaseUncertain('a batch may have been carried out in part', { cause: error });
        }
        if (!isDone) throw error;
      }
      return statements.map(() => []);
    },

    ping: async () => void (await query({ sql: 'SELECT count(*) AS tables FROM sqlite_schema' })),

    close: async () => cluster.close(),
  };

  try {
    const version = await storedVersion((statement) => query(statement, 'linearizable'));
    if (toRead && version === 0) throw new DatabaseUnusable('it is empty');
    const [foreignKeys] = await query(FOREIGN_KEYS);
    if (foreignKeys?.minded !== 1) throw new DatabaseUnusable('its nodes must be started with -fk');
    if (!toRead) {
      const steps = BATCHES.map((sql): Step => [sql]);
      await execute(EXECUTE, steps);
    }
    return database;
  } catch (error) {
    cluster.close();
    throw error;
  }
}

/** The rows that were kept. */
function rowsIn(batches: readonly Row[] | null | undefined): Row[][] {
  return JSON.parse(String(batches?.[0]?.rows));
}

/** Keeps the rows that a statement is about to return. */
function keep(rows = `'[]'`): string {
  return `UPDATE notes_server_done SET rows = json_insert(rows, '$[#]', json(${rows})) WHERE id = ?2`;
}

/** Returns the results; throws the error of the first one that has one. */
function checked(results: readonly Result[]): readonly Result[] {
  const error = results.find((result) => result.error !== undefined)?.error;
  if (error === undefined) return results;
  if (error === MUST_NOT) throw new DatabaseUnavailable('a newer program or a copy has taken the database over');
  throw /\b(?:full|locked|busy|timeout|I\/O)\b/.test(error) ? new DatabaseUnavailable(error) : new Error(error);
}
