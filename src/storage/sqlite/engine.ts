// The embedded engine: SQLite in a file. One connection writes; others read at the same time.
import { closeSync, lstatSync, openSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Database, PreparedStep, Row, Statement } from '../database.ts';
import { storedSchema } from '../schema/migrations.ts';
import { sqlOf } from '../step.ts';
import {
  BUSY_PRAGMA,
  type Connection,
  KEEP_LOCKS,
  openConnection,
  READER_PRAGMAS,
  sqlite3,
  TAKE_WRITE_LOCK,
  WRITE_CACHE,
  WRITER_PRAGMAS,
} from './connection.ts';
import { transactionsOn } from './transactions.ts';
import { refuseReadOnly, unusable } from './unusable.ts';

const MEMORY = ':memory:';

/** Two connections for quick reads, and one for those that may take long. */
const READERS = 3;

/** The longest time of a slow read, because a hostile search could take minutes. */
export const SLOW_READ = { maxMs: 1_000 };

/** "ntsv" in ASCII, for programs such as file(1). */
const APPLICATION_ID = 0x6e747376;

/** Referenced until the process ends: garbage collection would close them. */
const leftOpen: Connection[] = [];

/** Reads a page of the file; `SELECT 1` would not. */
const PING: Statement = { sql: 'SELECT count(*) AS tables FROM sqlite_schema' };

/** A database in this process. `close` can leave a connection open until the process ends. */
interface LocalDatabase extends Database {
  close(leavesOpen?: boolean): Promise<void>;
}

/** Keeps a database from files that are not its own. */
export interface FileGuard {
  /** Calls `onSetAside` with the new path of a log of another file; without it, throws. */
  clear(path: string, onSetAside?: (kept: string) => void): void;
  /** Returns `database`, whose writes now reject if they could get lost. */
  watch(path: string, isShared: boolean, database: LocalDatabase): Database;
}

interface SqliteOptions {
  /** Whether nobody else can use the file until it is closed. */
  readonly alone?: boolean;
  readonly guard?: FileGuard | undefined;
  readonly onForeignLog?: ((kept: string) => void) | undefined;
}

/** Opens a file or `:memory:`; rejects with {@link DatabaseUnusable}, as `close` does. */
export async function openSqlite(
  path: string,
  { alone = false, guard, onForeignLog }: SqliteOptions = {},
): Promise<Database> {
  const connections: Connection[] = [];
  try {
    if (path !== MEMORY) guard?.clear(path, onForeignLog);
    refuseReadOnly(path);
    if (path !== MEMORY) createIfMissing(path);
    const writer = await openConnection(path, sqlite3.OPEN_READWRITE);
    connections.push(writer);
    if (alone) await writer.execute(KEEP_LOCKS);
    await prepareWriter(writer);
    const isSingle = alone || path === MEMORY;
    if (!isSingle) await writer.execute(WRITE_CACHE);
    while (!isSingle && connections.length <= READERS) {
      const reader = await openConnection(path, sqlite3.OPEN_READONLY);
      connections.push(reader);
      await reader.execute(READER_PRAGMAS);
    }
    const database = databaseOf(writer, connections.slice(1));
    return path === MEMORY || !guard ? database : guard.watch(path, !isSingle, database);
  } catch (error) {
    for (const connection of connections) await connection.close().catch(() => {});
    throw unusable(path, error);
  }
}

/** Creates a file that only its owner may use; SQLite gives the mode to its log and its index. */
function createIfMissing(path: string): void {
  try {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    // SQLite would create what a link leads to.
    const file = isLink ? resolve(dirname(path), readlinkSync(path)) : path;
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // Either it exists, or SQLite says why it cannot.
  }
}

async function prepareWriter(writer: Connection): Promise<void> {
  await writer.execute(BUSY_PRAGMA);
  // Rejects a file of another program before the journal mode changes it.
  const { version } = await storedSchema((statement) => writer.run(statement));
  const useLog = () => writer.execute('PRAGMA journal_mode = WAL');
  // If two processes switch at once, SQLite refuses one, which waits for the other and retries.
  await useLog().catch(() => writer.execute(TAKE_WRITE_LOCK).then(useLog));
  await writer.execute(WRITER_PRAGMAS);
  // Finds a read-only or locked file now instead of at the first write.
  await writer.execute(TAKE_WRITE_LOCK);
  // After a crash, the index of the log does not tell how much of it is in the file.
  await writer.execute('PRAGMA wal_checkpoint').catch(() => {});
  if (version === 0) await writer.execute(`PRAGMA application_id = ${APPLICATION_ID}`);
}

function statementOf(given: Statement | PreparedStep): Statement {
  return 'step' in given ? { sql: sqlOf(given.step), parameter: given.parameter } : given;
}

function databaseOf(writer: Connection, readers: readonly Connection[]): LocalDatabase {
  let revision = 0;
  const transact = transactionsOn(writer);
  const all = [...readers, writer];
  const [slow = writer, first = writer, ...others] = readers;

  return {
    read(statement): Promise<readonly Row[]> {
      const reader = statement.isSlow
        ? slow
        : others.reduce((best, next) => (next.pending < best.pending ? next : best), first);
      const maxMs = statement.isSlow ? SLOW_READ.maxMs : undefined;
      return reader.exclusively(() => reader.run(statement, maxMs));
    },

    transact(statements) {
      return writer.exclusively(async () => {
        try {
          return await transact(statements.map(statementOf));
        } finally {
          revision += 1;
        }
      });
    },

    freshness:
      slow === writer
        ? {
            // Nobody else can write, and reads wait for a transaction to end.
            revision: () => `${revision}`,
            committed: () => `${revision}`,
            isNext: (before, after) => Number(after) === Number(before) + 1,
          }
        : undefined,

    async ping() {
      // Without the slow one, which may be busy.
      const pinged = new Set([first, ...others, writer]);
      await Promise.all([...pinged].map((each) => each.exclusively(() => each.run(PING))));
    },

    async close(leavesOpen) {
      if (leavesOpen) leftOpen.push(...all.splice(0, 1));
      // Close the writer last: only a connection that may write can checkpoint the log.
      for (const connection of all) await connection.close();
    },
  };
}
