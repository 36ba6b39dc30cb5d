// From what an option names to a database that can be used: a file, memory, or a cluster.
import { readFile } from 'node:fs/promises';
import { type Database, DatabaseUnusable } from './database.ts';
import { migrate } from './migrations.ts';
import { openRqlite } from './rqlite.ts';
import { type NamedCluster, parseCluster } from './rqlite-address.ts';
import { openAlone, openBeside, openSqlite, unusable } from './sqlite.ts';
import { type Filling, refuseUnfinished, type Source } from './unfinished.ts';

/** Where data is kept. */
export interface StorageOptions {
  /** The path of a SQLite file, `:memory:`, or the address of a cluster. */
  readonly db: string;
  /** The password of the cluster's user; else the file that holds it, if there is one. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

/** Opens what is named and brings it to this program's version. Rejects with {@link DatabaseUnusable}. */
export async function openStorage(options: StorageOptions): Promise<Database> {
  const cluster = parseCluster(options.db);
  const database = await (cluster ? openCluster(cluster, options) : openSqlite(options.db));
  return prepared(database, options, [migrate, refuseUnfinished]);
}

/**
 * Opens what is named for `filling` to fill it, as {@link openStorage} does; a file so that nobody else can use it. One that
 * was left half filled is what it is for.
 */
export async function openTarget(options: StorageOptions, filling: Filling): Promise<Database> {
  const cluster = parseCluster(options.db);
  const database = cluster
    ? await openCluster({ ...cluster, level: 'linearizable' }, options)
    : await openSqlite(options.db, { alone: true });
  return prepared(database, options, [migrate, (opened) => refuseUnfinished(opened, filling)]);
}

/**
 * Opens what is named to read all of it: a file so that nobody else can use it or, `beside` whoever does, as it is at this
 * moment; a cluster that others can change. Rejects with {@link DatabaseUnusable}, also where there is nothing.
 */
export async function openSource(
  options: StorageOptions,
  { beside = false } = {},
): Promise<Source & Pick<Database, 'close'>> {
  const cluster = parseCluster(options.db);
  const source = cluster
    ? await openCluster({ ...cluster, level: 'linearizable' }, options, { toRead: true })
    : await openFileToRead(options.db, beside);
  return prepared(source, options, [refuseUnfinished]);
}

/** Takes the steps that come before `database` can be used; if one cannot be taken, nothing stays open. */
async function prepared<Opened extends Pick<Database, 'close'>>(
  database: Opened,
  { db }: StorageOptions,
  steps: readonly ((database: Opened) => Promise<void>)[],
): Promise<Opened> {
  try {
    for (const step of steps) await step(database);
    return database;
  } catch (error) {
    await database.close();
    throw unusable(db, error);
  }
}

async function openFileToRead(path: string, beside: boolean): Promise<Source & Pick<Database, 'close'>> {
  const connection = await (beside ? openBeside(path) : openAlone(path));
  // One transaction for all that is read: what is written meanwhile is not seen.
  if (beside) await connection.exclusively(() => connection.execute('BEGIN'));
  return {
    read: (statement) => connection.exclusively(() => connection.run(statement)),
    close: () => connection.close(),
  };
}

async function openCluster(cluster: NamedCluster, options: StorageOptions, parts = {}): Promise<Database> {
  const { nodes, user, level } = cluster;
  const { db, dbPassword, dbPasswordFile } = options;
  const password = dbPasswordFile === undefined ? dbPassword : await passwordIn(dbPasswordFile);
  try {
    return await openRqlite({ nodes, user, password }, level, parts);
  } catch (error) {
    throw unusable(db, error);
  }
}

/** The file's text without the line feed that editors put at its end. */
async function passwordIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(`cannot read the password in ${file}: ${code}`, { cause });
  }
}
