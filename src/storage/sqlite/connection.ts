// One connection of the `sqlite3` package. A throw inside its callbacks locks the statement for
// ever, and concurrent transactions interleave: work runs in order, callbacks only settle promises.
import { createRequire } from 'node:module';
import { LRUCache } from 'lru-cache';
import type { Database, Statement as PreparedStatement } from 'sqlite3';
import {
  AnswerTooLarge,
  bytesOf,
  DatabaseDamaged,
  DatabaseFull,
  DatabaseUnavailable,
  ReadTooSlow,
  type Row,
  type Statement,
} from '../database.ts';
import { codeOf } from './unusable.ts';

const NO_BINDING = `sqlite3 has no working binding (was its install script skipped?). Run: \
npm pkg set --json allowScripts.sqlite3=true && npm rebuild --ignore-scripts=false sqlite3; \
with pnpm: pnpm approve-builds`;

/** The package. Without its native binding, loading this module throws an Error with the remedy. */
export const sqlite3 = loadPackage();

/** Makes statements wait for a lock, up to 5 seconds. */
export const BUSY_PRAGMA = 'PRAGMA busy_timeout = 5000';

/** 64 MiB: a negative size is in KiB. */
const CACHE_PRAGMA = 'PRAGMA cache_size = -65536';

/** Configures a connection that only reads. */
export const READER_PRAGMAS = `${BUSY_PRAGMA}; ${CACHE_PRAGMA}`;

/** Configures a connection that writes, and overwrites what it deletes. Its busy timeout is set. */
export const WRITER_PRAGMAS = `
  PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; ${CACHE_PRAGMA}`;

/**
 * For a writer beside which others read, 8 MiB. Commits often look at each page in the cache: to
 * order pages, SQLite gives one for a moment a number beyond the end of the file.
 */
export const WRITE_CACHE = 'PRAGMA cache_size = -8192';

/** Makes the connection keep each lock that a statement takes, until it closes. */
export const KEEP_LOCKS = 'PRAGMA locking_mode = EXCLUSIVE';

/** Takes the write lock and rolls back. It writes, because BEGIN alone accepts a read-only file. */
export const TAKE_WRITE_LOCK = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK';

/** Those of lists take up to 0.5 MB each. */
const MAX_STATEMENTS = 100;

/** The longest value that SQLite supports by default. */
const MAX_VALUE_BYTES = 1_000_000_000;

/** The errors of statements that may succeed when they are run again. */
const RETRYABLE = /^SQLITE_(?:BUSY|LOCKED|NOMEM|READONLY|IOERR|CANTOPEN|PROTOCOL|NOTADB)$/;

function loadPackage(): typeof import('sqlite3') {
  try {
    // Node 20 throws an error of an imported CommonJS module a second time, uncaught.
    return createRequire(import.meta.url)('sqlite3');
  } catch (cause) {
    const isMissing = String(cause).includes('Could not locate the bindings file');
    if (!isMissing && codeOf(cause) !== 'ERR_DLOPEN_FAILED') throw cause;
    throw Object.assign(new Error(NO_BINDING, { cause }), { code: 'ERR_DLOPEN_FAILED' });
  }
}

/** Opens `path`; rejects with the error of the package. */
export function openConnection(path: string, mode: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const handle: Database = new sqlite3.Database(path, mode, (error) =>
      error ? reject(error) : resolve(new Connection(handle)),
    );
  });
}

const ignore = () => {};

/** An open connection. */
export class Connection {
  readonly #handle: Database;
  /** The prepared statements by their SQL. None is running when another one takes its place. */
  readonly #statements = new LRUCache<string, PreparedStatement>({
    max: MAX_STATEMENTS,
    dispose: (statement) => statement.finalize(),
  });
  #maxBytes = MAX_VALUE_BYTES;
  #isClosing = false;
  /** Resolves when the latest work has ended. */
  #last: Promise<unknown> = Promise.resolve();
  /** How many pieces of work have not ended. */
  pending = 0;

  constructor(handle: Database) {
    this.#handle = handle;
  }

  /** Runs `work` alone, after all earlier work, and settles as it does. Rejects after `close`. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosing) return Promise.reject(new DatabaseUnavailable('the database is closing'));
    this.pending += 1;
    const result = this.#last.then(async () => {
      try {
        return await work();
      } catch (error) {
        // A damaged page in the cache would outlive the damage.
        if (error instanceof DatabaseDamaged)
          await this.execute('PRAGMA shrink_memory').catch(ignore);
        throw error;
      } finally {
        this.pending -= 1;
      }
    });
    this.#last = result.then(ignore, ignore);
    return result;
  }

  /** Call it inside `exclusively`. Rejects with {@link ReadTooSlow} after `maxMs`. */
  async run(
    { sql, parameter, maxBytes = MAX_VALUE_BYTES, hasLargeRows }: Statement,
    maxMs?: number,
  ): Promise<readonly Row[]> {
    const prepared = this.#statements.get(sql) ?? (await this.#prepare(sql));
    if (maxBytes !== this.#maxBytes) {
      this.#handle.configure('limit', sqlite3.LIMIT_LENGTH, maxBytes);
      this.#maxBytes = maxBytes;
    }
    const timer = maxMs && setTimeout(() => this.#handle.interrupt(), maxMs);
    const parameters = parameter === undefined ? [] : [parameter];
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null, rows: readonly Row[]) => {
        clearTimeout(timer);
        // Until it is reset, a write that failed with SQLITE_BUSY prevents all other commits.
        if (error) prepared.reset(() => reject(this.#translate(error)));
        else resolve(rows);
      };
      if (hasLargeRows) this.#takeOneByOne(prepared, parameters, settle);
      else prepared.all<Row>(parameters, settle);
    });
  }

  #translate(cause: Error): Error {
    const code = codeOf(cause);
    if (code === 'SQLITE_INTERRUPT') return new ReadTooSlow('it took too long', { cause });
    if (code === 'SQLITE_TOOBIG') return new AnswerTooLarge(cause.message, { cause });
    if (code === 'SQLITE_CORRUPT') return new DatabaseDamaged(cause.message, { cause });
    if (code === 'SQLITE_FULL') return new DatabaseFull(cause.message, { cause });
    return RETRYABLE.test(code) ? new DatabaseUnavailable(cause.message, { cause }) : cause;
  }

  /** Runs one or more statements without parameters. Call it inside `exclusively`. */
  execute(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#handle.exec(sql, (error) => (error ? reject(this.#translate(error)) : resolve()));
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#last;
    this.#statements.clear();
    await new Promise<void>((resolve, reject) => {
      this.#handle.close((error) => (error ? reject(error) : resolve()));
    });
  }

  #prepare(sql: string): Promise<PreparedStatement> {
    return new Promise((resolve, reject) => {
      const prepared: PreparedStatement = this.#handle.prepare(sql, (error: Error | null) => {
        if (error) return reject(this.#translate(error));
        this.#statements.set(sql, prepared);
        resolve(prepared);
      });
    });
  }

  /** Lets other events in between; but the package ignores rows that arrive during the end. */
  #takeOneByOne(
    statement: PreparedStatement,
    parameters: readonly string[],
    settle: (error: Error | null, rows: readonly Row[]) => void,
  ): void {
    const rows: Row[] = [];
    let failed: Error | null = null;
    let bytes = 0;
    const onRow = (error: Error | null, row: Row) => {
      failed ??= error;
      if (failed) return;
      rows.push(row);
      bytes += bytesOf(row).length;
      if (bytes <= this.#maxBytes) return;
      failed = new AnswerTooLarge('the rows are too large together');
      this.#handle.interrupt();
    };
    // An error comes before the reset, but not always before the end.
    statement.each<Row>(parameters, onRow, () => statement.reset(() => settle(failed, rows)));
  }
}
