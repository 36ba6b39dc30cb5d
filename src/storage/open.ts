// From what an option names to a database that can be used: a file, memory, or a cluster.
import { readFile } from 'node:fs/promises';
import { isHalfCopied } from './copy.ts';
import { type Database, DatabaseUnusable } from './database.ts';
import { migrate } from './migrations.ts';
import { openRqlite } from './rqlite.ts';
import { type NamedCluster, parseCluster } from './rqlite-address.ts';
import { openAlone, openSqlite, unusable } from './sqlite.ts';

/** Where data is kept. */
export interface StorageOptions {
  /** The path of a SQLite file, `:memory:`, or the address of a cluster. */
  readonly db: string;
  /** The password of the cluster's user; else the file that holds it, if there is one. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

/**
 * Opens what is named and brings it to this program's version. Rejects with {@link DatabaseUnusable}, also for one that was
 * only half copied, if that is not what it is opened for.
 */
export async function openStorage(options: StorageOptions, { halfCopied = false } = {}): Promise<Database> {
  const { db } = options;
  const cluster = parseCluster(db);
  const database = await (cluster ? openCluster(cluster, options) : openSqlite(db));
  try {
    await migrate(database);
    if (!halfCopied && (await isHalfCopied(database))) throw new Error('a copy into it was not finished: run it again');
    return database;
  } catch (error) {
    await database.close();
    throw unusable(db, error);
  }
}

/**
 * Opens what is named to be copied: a file so that nobody changes it meanwhile; a cluster that others may change. Rejects
 * with {@link DatabaseUnusable}.
 */
export async function openToCopy(options: StorageOptions): Promise<Pick<Database, 'read' | 'close'>> {
  if (parseCluster(options.db)) return openStorage(options);
  const connection = await openAlone(options.db);
  return {
    read: (statement) => connection.exclusively(() => connection.run(statement)),
    close: () => connection.close(),
  };
}

async function openCluster(cluster: NamedCluster, options: StorageOptions): Promise<Database> {
  const { nodes, user, level } = cluster;
  const { db, dbPassword, dbPasswordFile } = options;
  const password = dbPasswordFile === undefined ? dbPassword : await passwordIn(dbPasswordFile);
  try {
    return await openRqlite({ nodes, user, password }, level);
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
