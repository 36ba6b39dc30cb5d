// One connection of the `sqlite3` package behind promises. The package runs one statement at a time on a thread of its
// own and has sharp edges (a throw inside a callback locks its statement for ever; concurrent transactions on one
// connection interleave), so all work on a connection goes through one lane, and callbacks only settle a promise.
import sqlite3 from 'sqlite3';
import { DatabaseDamaged, DatabaseUnavailable, type Row, type Statement } from './database.ts';

/** A connection: `exclusively` gives its caller the connection alone until the returned promise settles. */
export interface Connection {
  /** Runs `work` when all earlier work is done; resolves or rejects as `work` does, and rejects once `close` was called. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
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

/** Opens `path` (`mode` is made of the package's OPEN_ flags). Rejects with the package's error. */
export async function openConnection(path: string, mode: number): Promise<Connection> {
  const handle = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened: sqlite3.Database = new sqlite3.Database(path, mode, (error) =>
      error ? reject(error) : resolve(opened),
    );
  });
  const prepared = new Map<string, Promise<sqlite3.Statement>>();
  let pending = 0;
  let closing = false;
  let lane: Promise<unknown> = Promise.resolve();

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
    exclusively(work) {
      if (closing) return Promise.reject(new DatabaseUnavailable('the database is closing'));
      pending += 1;
      const done = lane.then(async () => {
        try {
          return await work();
        } catch (error) {
          if (error instanceof DatabaseDamaged) await emptyCache();
          throw error;
        } finally {
          pending -= 1;
        }
      });
      // Whatever comes of it: it must not stay in memory until the next has its turn.
      lane = done.then(
        () => {},
        () => {},
      );
      return done;
    },

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
