// Opens the database that an option names, a file, memory or a cluster, for one of its uses.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, DatabaseUnusable, type Source } from './database.ts';
import type { Location, ParsedCluster } from './location.ts';
import { lastNumber } from './numbers.ts';
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
  warn?: (message: string, fields: object) => void,
): Promise<Database & AsyncDisposable> {
  const { db } = options;
  const alone = use === 'import';
  const onForeignLog =
    warn && ((kept: string) => warn('the log of another file was set aside', { kept }));
  const database = await (db.kind === 'cluster'
    ? openCluster(alone ? { ...db, level: 'linearizable' } : db, options, {
        warn: (message, node) => warn?.(message, { node }),
      })
    : openSqlite(db.name, { alone, onForeignLog }));
  return prepare(database, db.name, async () => {
    await migrate(database);
    if (!alone) await refuseUnfinished(database);
  });
}

/** Opens a snapshot of a database; of a cluster, a copy in the folder for temporary files. */
export async function openToExport(options: StorageOptions): Promise<Source & AsyncDisposable> {
  const { db } = options;
  if (db.kind !== 'cluster') return openFile('export', db.name);
  const parts = { toRead: true };
  const cluster = await openCluster({ ...db, level: 'linearizable' }, options, parts);
  const folder = await mkdtemp(join(tmpdir(), 'notes-server-export-'));
  try {
    const path = join(folder, 'copy.db');
    const before = await lastNumber(cluster);
    await cluster.copyTo(path);
    const copy = await openFile('export', path);
    // A node that leads no longer, but does not know yet, has copied an earlier state.
    if ((await lastNumber(copy)) >= before) return copy;
    await copy.close();
    throw new DatabaseUnusable('the leader has changed: run the export again');
  } catch (error) {
    throw unusable(db.name, error);
  } finally {
    await cluster.close();
    // It stays readable while it is open, and goes with this process.
    await rm(folder, { recursive: true, force: true });
  }
}

/** Opens an existing file. Rejects with {@link DatabaseUnusable}, also if there is none. */
export async function openFile(use: keyof typeof OPENERS, path: string) {
  const file = await OPENERS[use](path);
  return prepare(file, path, async () => {
    if (use !== 'inspect') await refuseUnfinished(file);
  });
}

/** Prepares a database for its use; closes it if that fails. */
async function prepare<Opened extends Pick<Database, 'close'>>(
  opened: Opened,
  name: string,
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
  options: StorageOptions,
  parts: Parameters<typeof openRqlite>[2],
) {
  const password = await passwordOf(options);
  try {
    return await openRqlite({ nodes, user, password }, level, parts);
  } catch (error) {
    throw unusable(options.db.name, error);
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
