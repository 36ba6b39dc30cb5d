// The engine for rqlite, which replicates SQLite with Raft. A batch is resent until a node answers:
// its first statement inserts its id, so that a second run fails, and its rows are stored with it.
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import {
  type Database,
  DatabaseUnavailable,
  DatabaseUncertain,
  DatabaseUnusable,
  type PreparedStep,
  type Row,
  type Statement,
} from '../storage/database.ts';
import {
  IMPORT_MARK,
  SCHEMA_VERSION,
  storedSchema,
  VERSION,
  VERSIONS_TABLE,
} from '../storage/schema/migrations.ts';
import { sqlOf, type Step as WriteStep, withNamed } from '../storage/step.ts';
import type { ReadLevel } from './address.ts';
import { failureOf, NODE_FAILURE } from './answers.ts';
import { BATCHES_TABLE, DONE_ERROR, EXECUTE, LATE_ERROR } from './batches.ts';
import { CLUSTER_LIMITS, Cluster, type ClusterAddress, type Reply, type Step } from './cluster.ts';
import { History, type Warn } from './history.ts';

/**
 * rqlite 8.43.4 fails to roll back in two cases: after a failed statement that its parser takes for
 * one with RETURNING (hence `noparse`), and, in `request`, after a statement that SQLite cannot
 * compile (so only statements on existing tables go there).
 */
const EXECUTE_AND_QUERY = EXECUTE.replace('/db/execute?', '/db/request?associative&');
const QUERY = '/db/query?associative&redirect&noparse';

/** Without `fmt`, the copy of a leader can lack what only the log of its SQLite has. */
const COPY = '/db/backup?redirect&fmt=delete';

const SELECT_ROWS = 'SELECT rows FROM notes_server_batches WHERE id = ?1';

/** SQLite's message if {@link ROWS_TO_SERVE} finds that the service must not write now. */
const FORBIDDEN_ERROR = 'NOT NULL constraint failed: notes_server_batches.rows';

/** Fails if the schema is newer than this program, or if an import is unfinished. */
const ROWS_TO_SERVE = `
  iif(${VERSION} > ${SCHEMA_VERSION}
    OR (SELECT count(*) > 0 FROM sqlite_schema WHERE name = '${IMPORT_MARK}'), NULL, '[]')`;

const storeSql = (rows = `'[]'`) => `
  UPDATE notes_server_batches SET rows = json_insert(rows, '$[#]', json(${rows})) WHERE id = ?2`;

const FOREIGN_KEYS: Statement = { sql: 'SELECT foreign_keys AS enforced FROM pragma_foreign_keys' };
const PING: Statement = { sql: 'SELECT count(*) AS tables FROM sqlite_schema' };

/** Opens a cluster as {@link storedSchema} does; rejects if it lacks -fk or, `toRead`, is empty. */
export async function openRqlite(
  address: ClusterAddress,
  level: ReadLevel,
  { toRead = false, warn }: { readonly toRead?: boolean; readonly warn?: Warn } = {},
): Promise<Database & { copyTo(path: string, signal?: AbortSignal): Promise<void> }> {
  const cluster = new Cluster(address);
  const history = new History(cluster, warn);
  try {
    const first = readerOf(cluster);
    const { version } = await storedSchema(first);
    if (toRead && version === 0) throw new DatabaseUnusable('it is empty');
    const [foreignKeys] = await first(FOREIGN_KEYS);
    if (foreignKeys?.enforced !== 1)
      throw new DatabaseUnusable('its nodes must be started with -fk');
    rowsOf(await cluster.send(EXECUTE, [[VERSIONS_TABLE], [BATCHES_TABLE]]));
    await history.prove();
  } catch (error) {
    cluster[Symbol.dispose]();
    throw error;
  }
  return {
    read: (statement) => history.read(() => send(cluster, statement, level)).then(rowsOf),
    async transact(statements) {
      // Before the batch is sent: until then, it is certain that it changed nothing.
      await history.ensureProven();
      const batchId = randomUUID();
      return transact(cluster, history, batchId, statements).catch((error) => {
        if (error instanceof DatabaseUncertain) void history.bar(batchId);
        throw error;
      });
    },
    async ping() {
      // Not as a read: however seldom it is called, it writes nothing while the leader stays.
      await history.ensureProven();
      rowsOf(await send(cluster, PING, level));
    },
    async copyTo(path, signal) {
      await history.read(async () => {
        await pipeline(await cluster.get(COPY), createWriteStream(path), { signal });
        return { leadership: cluster.leadership };
      });
    },
    patienceMs: CLUSTER_LIMITS.clusterMs,
    stopSoon: () => cluster.stopSoon(),
    close: async () => cluster[Symbol.dispose](),
  };
}

/** Returns what reads the data of the leader, whether or not this has missed writes. */
export function readerOf(cluster: Cluster): Database['read'] {
  return (statement) => send(cluster, statement).then(rowsOf);
}

function send(
  cluster: Cluster,
  statement: Statement,
  level: ReadLevel = 'linearizable',
): Promise<Reply> {
  return cluster.send(`${QUERY}&level=${level}`, [toStep(statement)], statement.maxBytes);
}

/** Returns the rows of the only statement; throws if any has failed. */
function rowsOf(reply: Reply): readonly Row[] {
  const { error } = failureOf(reply);
  if (error !== undefined) throw errorOf(error);
  return reply.results[0]?.rows ?? [];
}

async function transact(
  cluster: Cluster,
  history: History,
  batchId: string,
  statements: readonly (Statement | PreparedStep)[],
): Promise<readonly (readonly Row[])[]> {
  // The steps of the service return rows, the statements of commands do not.
  const hasRows = statements.some((each) => 'step' in each);
  const begin = history.batches.begin(batchId, hasRows ? ROWS_TO_SERVE : undefined);
  const steps = [...begin, ...toSteps(batchId, statements, hasRows)];
  const reply = await certain(cluster.send(hasRows ? EXECUTE_AND_QUERY : EXECUTE, steps));
  const { error } = failureOf(reply);
  if (error === undefined || error === DONE_ERROR) {
    await certain(history.accept(batchId, reply));
    if (!hasRows) return statements.map(() => []);
    const rows =
      error === undefined ? reply.results.at(-1)?.rows : await storedRows(cluster, batchId);
    if (rows?.length) return JSON.parse(String(rows[0]?.rows));
  } else {
    // Other nodes may have carried it out, unless the leader has missed nothing.
    history.forget();
    await certain(history.prove());
    const isDone = hasRows && (await storedRows(cluster, batchId)).length > 0;
    // The proof has made the last batch that this process knows of a new one.
    if (error === LATE_ERROR) return transact(cluster, history, batchId, statements);
    if (!isDone && !NODE_FAILURE.test(error)) throw errorOf(error);
  }
  throw new DatabaseUncertain('a batch may have been carried out in part', { cause: error });
}

/** Resolves as `outcome` does; its errors leave open whether a batch was carried out. */
async function certain<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
  try {
    return await outcome;
  } catch (cause) {
    throw new DatabaseUncertain('the cluster has not confirmed a batch', { cause });
  }
}

/** Resolves with the row of a batch that was carried out. */
async function storedRows(cluster: Cluster, batchId: string): Promise<readonly Row[]> {
  return rowsOf(await certain(send(cluster, { sql: SELECT_ROWS, parameter: batchId })));
}

function errorOf(error: string): Error {
  if (error === FORBIDDEN_ERROR)
    return new DatabaseUnavailable('a newer version or an import has taken over the database');
  return NODE_FAILURE.test(error) ? new DatabaseUnavailable(error) : new Error(error);
}

/** Returns a statement as a node takes it. The SQLite of rqlite 8.43.4 has no `jsonb_each`. */
export function toStep({ sql: given, parameter }: Statement): Step {
  const sql = given.replaceAll('jsonb_each(', 'json_each(');
  return parameter === undefined ? [sql] : [sql, parameter];
}

/** Returns a batch as the cluster carries it out: each foretold row is stored before its write. */
function toSteps(
  batchId: string,
  statements: readonly (Statement | PreparedStep)[],
  hasRows: boolean,
): Step[] {
  const steps: Step[] = [];
  for (const each of statements) {
    const { parameter = '' } = each;
    const rows = 'step' in each ? foretold(each.step) : undefined;
    if (hasRows) {
      const [sql] = toStep({ sql: storeSql(rows) });
      steps.push([sql, rows ? parameter : '', batchId]);
    }
    steps.push(toStep('step' in each ? { sql: sqlOf(each.step), parameter } : each));
  }
  if (hasRows) steps.push([SELECT_ROWS, batchId]);
  return steps;
}

const foretoldRows = new WeakMap<WriteStep, string>();

/** Returns the SQL of the JSON array of the rows that a step will return; undefined for none. */
export function foretold(step: WriteStep): string | undefined {
  const { named = '', records, returns, from } = step;
  if (!returns) return undefined;
  const known = foretoldRows.get(step);
  if (known !== undefined) return known;
  const members = Object.entries(returns).map(([name, sql]) => `'${name}', ${sql}`);
  const queries = records === undefined ? named : `${named}, new AS (${records})`;
  const rows = `json_group_array(json_object(${members.join(', ')}))`;
  const sql = `(${withNamed(queries)}SELECT ${rows} ${from})`;
  foretoldRows.set(step, sql);
  return sql;
}
