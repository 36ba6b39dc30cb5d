// Opens the database that an option names, a file, memory or a cluster, for one of its uses.
import { readFile } from 'node:fs/promises';
import { type Database, DatabaseUnusable, type Source } from './database.ts';
import type { Location, ParsedCluster } from './location.ts';
import { openRqlite } from './rqlite/engine.ts';
import { migrate, refuseUnfinished } from './schema/migrations.ts';
import { openSqlite } from './sqlite/engine.ts';
import { openAlone, openShared, openToInspect } from './sqlite/existing.ts';
import { unusable } from './sqlite/unusable.ts';

/** Where data is kept. */
export interface StorageOptions {
  readonly db: Location;
  /** The password of the cluster's user, unless it is in a file. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

/** How each use opens an existing file. A cluster is not read in one transaction. */
const OPENERS = {
  export: openSnapshot,
  backup: openShared,
  inspect: openToInspect,
  repair: openAlone,
} as const;

/** Opens and migrates a database, alone to import. Rejects with {@link DatabaseUnusable}. */
export async function openStorage(
  use: 'serve' | 'import',
  options: StorageOptions,
  onForeignLog?: (kept: string) => void,
): Promise<Database & AsyncDisposable> {
  const { db } = options;
  const alone = use === 'import';
  const database = await (db.kind === 'cluster'
    ? openCluster(alone ? { ...db, level: 'linearizable' } : db, options)
    : openSqlite(db.name, { alone, onForeignLog }));
  return prepare(database, db, async () => {
    await migrate(database);
    if (!alone) await refuseUnfinished(database);
  });
}

/** Opens an existing database. Rejects with {@link DatabaseUnusable}, also if there is none. */
export async function openSource(
  use: keyof typeof OPENERS,
  options: StorageOptions,
): Promise<Source & AsyncDisposable> {
  const { db } = options;
  const source = await (db.kind === 'cluster'
    ? openCluster({ ...db, level: 'linearizable' }, options, { toRead: true })
    : OPENERS[use](db.name));
  return prepare(source, db, async () => {
    if (use !== 'inspect') await refuseUnfinished(source);
  });
}

/** Opens an existing file as {@link openSource} does. */
export function openFile(use: keyof typeof OPENERS, path: string) {
  const db = { kind: 'file', name: path } as const;
  return openSource(use, { db, dbPassword: undefined, dbPasswordFile: undefined });
}

/** Prepares a database for its use; closes it if that fails. */
async function prepare<Opened extends Pick<Database, 'close'>>(
  opened: Opened,
  { name }: Location,
  work: () => Promise<void>,
): Promise<Opened & AsyncDisposable> {
  try {
    await work();
    return { ...opened, [Symbol.asyncDispose]: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw unusable(name, error);
  }
}

async function openSnapshot(path: string) {
  const file = await openShared(path);
  await file.read({ sql: 'BEGIN' });
  return file;
}

async function openCluster(
  { nodes, user, level }: ParsedCluster,
  { db, dbPassword, dbPasswordFile }: StorageOptions,
  parts = {},
): Promise<Database> {
  const password = dbPasswordFile === undefined ? dbPassword : await readPassword(dbPasswordFile);
  try {
    return await openRqlite({ nodes, user, password }, level, parts);
  } catch (error) {
    throw unusable(db.name, error);
  }
}

async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(`cannot read the password in ${file}: ${code}`, { cause });
  }
}
