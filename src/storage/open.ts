// Opens the database that an option names: a file, memory, or a cluster.
import { readFile, realpath, rm, stat, truncate } from 'node:fs/promises';
import { RESOURCES } from '../resources/resources.ts';
import { type Database, DatabaseUnusable, type Source } from './database.ts';
import type { Location } from './location.ts';
import type { ParsedCluster } from './rqlite/address.ts';
import { openRqlite } from './rqlite/engine.ts';
import { migrate } from './schema/migrations.ts';
import { type BulkLoad, refuseUnfinished } from './schema/unfinished.ts';
import { openSqlite } from './sqlite/engine.ts';
import { openAlone, openShared } from './sqlite/existing.ts';
import { unusable } from './sqlite/unusable.ts';

/** Where data is kept. */
export interface StorageOptions {
  readonly db: Location;
  /** The password of the cluster's user, unless it is in a file. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

type Closable = Pick<Database, 'close'>;

/**
 * Opens the database and migrates it. Rejects with {@link DatabaseUnusable}. `onForeignLog` is as
 * in {@link openSqlite}.
 */
export async function openStorage(
  options: StorageOptions,
  onForeignLog?: (kept: string) => void,
): Promise<Database> {
  const { db } = options;
  const database = await (db.kind === 'cluster'
    ? openCluster(db, options)
    : openSqlite(db.name, { onForeignLog }));
  return prepare(database, options, [createTables, refuseUnfinished]);
}

/** A database that a command fills. */
export interface Target extends Database, AsyncDisposable {
  /**
   * Removes the file if {@link openTarget} created it, and empties it if it was empty. Afterwards,
   * only close the database.
   */
  discardNew(): Promise<void>;
}

/** Like {@link openStorage}, but locks a file, to start or continue a bulk load. */
export async function openTarget(options: StorageOptions, load: BulkLoad): Promise<Target> {
  const { db } = options;
  const isFile = db.kind === 'file';
  const found = isFile ? await stat(db.name).catch(() => undefined) : undefined;
  const database = await (db.kind === 'cluster'
    ? openCluster({ ...db, level: 'linearizable' }, options)
    : openSqlite(db.name, { alone: true }));
  const discardNew = async () => {
    if (!isFile || (found && found.size > 0)) return;
    // Leave WAL mode while the file is locked. In WAL mode, `close` would delete the log at this
    // path, which may belong to a new file by then. Also, only without WAL does SQLite refuse the
    // writes of other processes to a removed file.
    await database.transact('discard', [{ sql: 'PRAGMA journal_mode = DELETE' }]);
    const path = await realpath(db.name);
    await (found ? truncate(path) : rm(path));
  };
  const createOrDiscard = (target: Database) =>
    createTables(target).catch(async (error) => {
      await discardNew();
      throw error;
    });
  return prepare({ ...database, discardNew }, options, [
    createOrDiscard,
    (target) => refuseUnfinished(target, load),
  ]);
}

/**
 * Opens the database to read all of it. A file is locked or, with `snapshot`, read in one
 * transaction; a cluster is neither, so its reads see later writes. Rejects with
 * {@link DatabaseUnusable}, also if there is no database.
 */
export async function openSource(
  options: StorageOptions,
  { snapshot = false } = {},
): Promise<Source & Closable & AsyncDisposable> {
  const { db } = options;
  const source = await (db.kind === 'cluster'
    ? openCluster({ ...db, level: 'linearizable' }, options, { toRead: true })
    : openFileToRead(db.name, snapshot));
  return prepare(source, options, [refuseUnfinished]);
}

/** Migrates the database. Rejects if a resource still has no table. */
async function createTables(database: Database): Promise<void> {
  // Try twice, because another process may have migrated it while this one read its schema.
  const missing = (await firstMissing(database)) && (await firstMissing(database));
  if (missing) {
    throw new DatabaseUnusable(
      `it has no table ${missing}: append a step to STEPS in src/storage/schema/steps.ts`,
    );
  }
}

async function firstMissing(database: Database): Promise<string | undefined> {
  const names = await migrate(database);
  return RESOURCES.find(({ table }) => !names.has(table))?.table;
}

/** Runs the steps that precede any use of the database, and closes it if one fails. */
async function prepare<Opened extends Closable>(
  database: Opened,
  { db }: StorageOptions,
  steps: readonly ((database: Opened) => Promise<void>)[],
): Promise<Opened & AsyncDisposable> {
  try {
    for (const step of steps) await step(database);
    return { ...database, [Symbol.asyncDispose]: () => database.close() };
  } catch (error) {
    await database.close();
    throw unusable(db.name, error);
  }
}

async function openFileToRead(path: string, snapshot: boolean): Promise<Source & Closable> {
  const connection = await (snapshot ? openShared(path) : openAlone(path));
  // One transaction for all reads: it does not see later writes.
  if (snapshot) await connection.exclusively(() => connection.execute('BEGIN'));
  return {
    read: (statement) => connection.exclusively(() => connection.run(statement)),
    close: () => connection.close(),
  };
}

async function openCluster(
  cluster: ParsedCluster,
  options: StorageOptions,
  parts = {},
): Promise<Database> {
  const { nodes, user, level } = cluster;
  const { db, dbPassword, dbPasswordFile } = options;
  const password = dbPasswordFile === undefined ? dbPassword : await readPassword(dbPasswordFile);
  try {
    return await openRqlite({ nodes, user, password }, level, parts);
  } catch (error) {
    throw unusable(db.name, error);
  }
}

/** Resolves with the text of the file, without a line break at its end. */
async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(`cannot read the password in ${file}: ${code}`, { cause });
  }
}
