// Opens the database that an option names, a file, memory or a cluster, for one of its uses.
import { readFile } from 'node:fs/promises';
import { type Database, DatabaseUnusable, type Source } from './database.ts';
import type { Location, ParsedCluster } from './location.ts';
import { openRqlite } from './rqlite/engine.ts';
import { migrate } from './schema/migrations.ts';
import { refuseUnfinished } from './schema/unfinished.ts';
import { openSqlite } from './sqlite/engine.ts';
import { type OpenFile, openAlone, openShared, openToInspect } from './sqlite/existing.ts';
import { unusable } from './sqlite/unusable.ts';

/** Where data is kept. */
export interface StorageOptions {
  readonly db: Location;
  /** The password of the cluster's user, unless it is in a file. */
  readonly dbPassword: string | undefined;
  readonly dbPasswordFile: string | undefined;
}

/** The uses that write to a database, and create a missing file. All begin with a migration. */
const WRITING = {
  /** A service shares a file. `onForeignLog` is as in {@link openSqlite}. */
  serve: {
    open: (path: string, onForeignLog?: (kept: string) => void) =>
      openSqlite(path, { onForeignLog }),
    level: undefined,
    allowsUnfinished: false,
  },
  /** Nobody else can use a file. */
  import: {
    open: (path: string) => openSqlite(path, { alone: true }),
    level: 'linearizable',
    allowsUnfinished: true,
  },
} as const;

/** The uses of an existing database. All but `repair` only read, while others may use it. */
const READING = {
  /** All of a file is read in one transaction. A cluster is not, so its reads see later writes. */
  export: { open: openSnapshot, allowsUnfinished: false },
  backup: { open: openShared, allowsUnfinished: false },
  /** Leaves no trace, and takes no locks on a file that nobody uses. */
  inspect: { open: openToInspect, allowsUnfinished: true },
  /** Nobody else can use the file. */
  repair: { open: openAlone, allowsUnfinished: false },
} as const;

type Closable = Pick<Database, 'close'>;

/** Opens a database to write. Rejects with {@link DatabaseUnusable}. */
export async function openStorage(
  use: keyof typeof WRITING,
  options: StorageOptions,
  onForeignLog?: (kept: string) => void,
): Promise<Database & AsyncDisposable> {
  const { open, level, allowsUnfinished } = WRITING[use];
  const { db } = options;
  const database = await (db.kind === 'cluster'
    ? openCluster({ ...db, level: level ?? db.level }, options)
    : open(db.name, onForeignLog));
  return prepare(database, options, async () => {
    await migrate(database);
    if (!allowsUnfinished) await refuseUnfinished(database);
  });
}

/** Opens an existing database. Rejects with {@link DatabaseUnusable}, also if there is none. */
export async function openSource(
  use: keyof typeof READING,
  options: StorageOptions,
): Promise<Source & AsyncDisposable> {
  const { open, allowsUnfinished } = READING[use];
  const { db } = options;
  const source = await (db.kind === 'cluster'
    ? openCluster({ ...db, level: 'linearizable' }, options, { toRead: true })
    : open(db.name));
  return prepare(source, options, async () => {
    if (!allowsUnfinished) await refuseUnfinished(source);
  });
}

/** Opens an existing file as {@link openSource} does. */
export function openFile(use: keyof typeof READING, path: string) {
  const db = { kind: 'file', name: path } as const;
  return openSource(use, { db, dbPassword: undefined, dbPasswordFile: undefined });
}

/** Prepares a database for its use; closes it if that fails. */
async function prepare<Opened extends Closable>(
  opened: Opened,
  { db }: StorageOptions,
  work: () => Promise<void>,
): Promise<Opened & AsyncDisposable> {
  try {
    await work();
    return { ...opened, [Symbol.asyncDispose]: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw unusable(db.name, error);
  }
}

async function openSnapshot(path: string): Promise<OpenFile> {
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

/** Resolves with the text of the file, without a line break at its end. */
async function readPassword(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new DatabaseUnusable(`cannot read the password in ${file}: ${code}`, { cause });
  }
}
