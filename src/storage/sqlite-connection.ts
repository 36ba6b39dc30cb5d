// One connection of the `sqlite3` package behind promises. The package runs one statement at a time on a thread of its
// own and has sharp edges (a throw inside a callback locks its statement for ever; concurrent transactions on one
// connection interleave), so all work on a connection goes through one lane, and callbacks only settle a promise.
import sqlite3 from 'sqlite3';
import { DatabaseDamaged, DatabaseOverloaded, DatabaseUnavailable, type Row, type Statement } from './database.ts';

/** A connection: `exclusively` gives its caller the connection alone until the returned promise settles. */
export interface Connection {
  /** Runs `work` when all earlier work of this kind is done; resolves or rejects as `work` does, and rejects once `close` was called. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /**
   * The same for long work: of what waits, this and the other kind take turns, so none keeps the other waiting. Rejects
   * with {@link DatabaseOverloaded} where too much of it waits already.
   */
  patiently<T>(work: () => Promise<T>): Promise<T>;
  /** Runs one prepared statement to its end (so that it commits) and returns its rows. Call it inside `exclusively`. */
  run(statement: Statement): Promise<readonly Row[]>;
  /** Runs SQL without parameters, several statements at will. Call it inside `exclusively`. */
  execute(sql: string): Promise<void>;
  /** Waits for the lane to empty, finalizes the statements and closes. */
  close(): Promise<void>;
  /** How many pieces of work wait or run. */
  pending(): number;
}

/** The result codes that tell of the state of the database and not of the statement, which may succeed another time. */
const STATE_CODES: ReadonlySet<string> = new Set([
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_NOMEM',
  'SQLITE_READONLY',
  'SQLITE_INTERRUPT',
  'SQLITE_IOERR',
  'SQLITE_FULL',
  'SQLITE_CANTOPEN',
  'SQLITE_PROTOCOL',
  'SQLITE_NOTADB',
]);

/**
 * How much long work may wait for a connection: with two of them that read, as much as waits in a batcher. A smaller bound
 * serves fewer, not quicker: to refuse takes the event loop as long as to start the reading.
 */
export const LONG_WORK_LIMIT = 4_096;

/** Opens `path` (`mode` is made of the package's OPEN_ flags). Rejects with the package's error. */
export async function openConnection(path: string, mode: number): Promise<Connection> {
  const handle = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened: sqlite3.Database = new sqlite3.Database(path, mode, (error) =>
      error ? reject(error) : resolve(opened),
    );
  });
  const prepared = new Map<string, Promise<sqlite3.Statement>>();
  const short: (() => Promise<void>)[] = [];
  const long: (() => Promise<void>)[] = [];
  let pending = 0;
  let closing = false;
  let lane: Promise<void> | undefined;

  async function travel(): Promise<void> {
    while (pending > 0) {
      await short.shift()?.();
      await long.shift()?.();
    }
    lane = undefined;
  }

  function queued(kind: (() => Promise<void>)[], limit = Number.POSITIVE_INFINITY) {
    return <T>(work: () => Promise<T>): Promise<T> => {
      if (closing) return Promise.reject(new DatabaseUnavailable('the database is closing'));
      if (kind.length >= limit) return Promise.reject(new DatabaseOverloaded('too much long work waits'));
      pending += 1;
      const done = new Promise<T>((resolve, reject) => {
        kind.push(async () => {
          try {
            resolve(await work());
          } catch (error) {
            if (error instanceof DatabaseDamaged) await emptyCache();
            reject(error);
          }
          pending -= 1;
        });
      });
      lane ??= travel();
      return done;
    };
  }

  /** A damaged page that stays in the cache would outlive the damage. */
  function emptyCache(): Promise<void> {
    return new Promise((resolve) => handle.exec('PRAGMA shrink_memory', () => resolve()));
  }

  function prepare(sql: string): Promise<sqlite3.Statement> {
    const known = prepared.get(sql);
    if (known) return known;
    const made = new Promise<sqlite3.Statement>((resolve, reject) => {
      const statement: sqlite3.Statement = handle.prepare(sql, (error: Error | null) =>
        error ? reject(translated(error)) : resolve(statement),
      );
    });
    prepared.set(sql, made);
    made.catch(() => prepared.delete(sql));
    return made;
  }

  return {
    exclusively: queued(short),
    patiently: queued(long, LONG_WORK_LIMIT),

    async run({ sql, parameter }) {
      const statement = await prepare(sql);
      return new Promise((resolve, reject) => {
        statement.all<Row>(parameter === undefined ? [] : [parameter], (error, rows) => {
          // A write that was refused (SQLITE_BUSY) stays under way until it is reset, and nothing else commits meanwhile.
          if (error) statement.reset(() => reject(translated(error)));
          else resolve(rows);
        });
      });
    },

    execute(sql) {
      return new Promise((resolve, reject) => {
        handle.exec(sql, (error) => (error ? reject(translated(error)) : resolve()));
      });
    },

    async close() {
      closing = true;
      await lane;
      for (const statement of prepared.values()) (await statement).finalize();
      await new Promise<void>((resolve, reject) => {
        handle.close((error) => (error ? reject(error) : resolve()));
      });
    },

    pending: () => pending,
  };
}

function translated(error: Error & { code?: string }): Error {
  if (error.code === 'SQLITE_CORRUPT') return new DatabaseDamaged(error.message, { cause: error });
  return STATE_CODES.has(error.code ?? '') ? new DatabaseUnavailable(error.message, { cause: error }) : error;
}
