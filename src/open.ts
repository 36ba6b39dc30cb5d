// Opens the database that an option names: a file, memory or a cluster.
import cluster from 'node:cluster';
import { readFile } from 'node:fs/promises';
import { fileGuard } from './file-guard/feature.ts';
import { UNFINISHED_IMPORT } from './pages.ts';
import { differencesIn } from './schema/differences.ts';
import { type Database, DatabaseUnusable } from './storage/database.ts';
import { migrate, storedSchema } from './storage/schema/migrations.ts';
import { STEPS } from './storage/schema/steps.ts';
import { type FileGuard, openSqlite } from './storage/sqlite/engine.ts';
import { unusable } from './storage/sqlite/unusable.ts';

/** The guard of all files; undefined if none watches them. */
export const GUARD: FileGuard | undefined = fileGuard;

/** Where data is kept; `name` is the text that was parsed. */
export type Location =
  | { readonly kind: 'memory' | 'file'; readonly name: string }
  | ClusterLocation;

/** A cluster, with the engine that its address selects. */
export interface ClusterLocation {
  readonly kind: 'cluster';
  readonly name: string;
  open(use: Use, password?: string, warn?: (text: string, node: string) => void): Promise<Copied>;
  /** Resolves with a line for each fault of its nodes. */
  check(password?: string): Promise<string[]>;
}

type Use = 'serve' | 'import' | 'export';

type Copied = Database & { readonly copyTo: (path: string, signal?: AbortSignal) => Promise<void> };

const UPGRADE = 'upgrading the database, without a copy: earlier versions will refuse it';

/** A database, and what opens it. */
export interface StorageOptions {
  readonly db: Location;
  /** The password of the cluster's user, unless it is in a file. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

/** Opens and migrates a database, alone to import. Rejects with {@link DatabaseUnusable}. */
export async function openStorage(
  use: 'serve' | 'import',
  options: StorageOptions,
  warn?: (message: string, fields: object) => void,
): Promise<Database & AsyncDisposable> {
  const { db } = options;
  const alone = use === 'import';
  const onForeignLog =
    warn && ((kept: string) => warn('the log of another file was set aside', { kept }));
  const database = await (db.kind === 'cluster'
    ? openCluster(db, use, options, (message, node) => warn?.(message, { node }))
    : openSqlite(db.name, { alone, guard: GUARD, onForeignLog }));
  const copying = db.kind === 'cluster' ? 'export' : 'backup';
  const backupBefore = `notes-server ${copying} TARGET --db ${db.name}`;
  const sayUpgrade = (from: number, to: number) => warn?.(UPGRADE, { from, to, backupBefore });
  try {
    await migrate(database, STEPS, sayUpgrade);
    const { isUnfinished } = await storedSchema(database.read);
    if (isUnfinished && !alone) throw new Error(UNFINISHED_IMPORT);
    const differences = db.kind === 'memory' ? [] : await differencesIn(database);
    const fault = differences.find(({ isFault }) => isFault);
    if (fault && alone) throw new Error(fault.text);
    // Of several processes, only the first one warns.
    if (differences.length > 0 && (cluster.worker?.id ?? 1) === 1)
      warn?.('the schema was changed', { differences: differences.map(({ text }) => text) });
    return { ...database, [Symbol.asyncDispose]: () => database.close() };
  } catch (error) {
    await database.close();
    throw unusable(db.name, error);
  }
}

/** Opens a cluster. Rejects with {@link DatabaseUnusable}. */
export async function openCluster(
  cluster: ClusterLocation,
  use: Use,
  options: StorageOptions,
  warn?: (text: string, node: string) => void,
): Promise<Copied> {
  const password = await passwordOf(options);
  try {
    return await cluster.open(use, password, warn);
  } catch (error) {
    throw unusable(cluster.name, error);
  }
}

/** Resolves with a line for each fault of its nodes. Rejects with {@link DatabaseUnusable}. */
export async function checkCluster(cluster: ClusterLocation, options: StorageOptions) {
  const password = await passwordOf(options);
  try {
    return await cluster.check(password);
  } catch (error) {
    throw unusable(cluster.name, error);
  }
}

/** Resolves with the password of the cluster's user, if there is one. */
export async function passwordOf({ dbPassword, dbPasswordFile: file }: StorageOptions) {
  if (file === undefined) return dbPassword;
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(`cannot read the password in ${file}: ${code}`, { cause });
  }
}
