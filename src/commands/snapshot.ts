// Opens snapshots of databases, from which exports are read page by page.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster, type StorageOptions } from '../open.ts';
import { lastIdsOf } from '../pages.ts';
import { type Database, DatabaseUnusable, type Source } from '../storage/database.ts';
import { unusable } from '../storage/sqlite/unusable.ts';
import { openServed, openShared } from './existing.ts';
import { noteUnfinished } from './whole-file.ts';

type CopyTo = (path: string) => Promise<unknown>;

/** Opens a snapshot of a database, which may be `served` by this process. */
export async function openSnapshot(
  options: StorageOptions,
  served?: Database,
  signal?: AbortSignal,
) {
  const { db } = options;
  if (db.kind === 'cluster') {
    const cluster = await openCluster(db, 'export', options);
    signal?.addEventListener('abort', () => cluster.stopSoon?.());
    const copyTo: CopyTo = (path) => cluster.copyTo(path, signal);
    return openCopy(db.name, cluster, copyTo).finally(cluster.close);
  }
  if (!served) return begin(openShared(db.name));
  // Rejects if another file has taken the place of the one that is served.
  await served.ping();
  if (db.kind === 'file') return begin(openServed(db.name));
  const copyTo: CopyTo = (path) => served.read({ sql: 'VACUUM INTO ?1', parameter: path });
  return openCopy(db.name, served, copyTo);
}

async function openCopy(name: string, source: Source, copyTo: CopyTo) {
  const folder = await mkdtemp(join(tmpdir(), 'notes-server-export-')).catch((error) => {
    throw unusable(name, error);
  });
  using _noted = noteUnfinished(folder);
  try {
    const path = join(folder, 'copy.db');
    const { changes: before = 0 } = await lastIdsOf(source);
    await copyTo(path);
    const copy = await begin(openShared(path));
    // A node that leads no longer, but does not know yet, has copied an earlier state.
    const { changes: copied = 0 } = await lastIdsOf(copy);
    if (copied >= before) return copy;
    await copy.close();
    throw new DatabaseUnusable('the leader has changed: run the export again');
  } catch (error) {
    throw unusable(name, error);
  } finally {
    // It stays readable while it is open, and goes with this process.
    await rm(folder, { recursive: true, force: true });
  }
}

async function begin(opening: ReturnType<typeof openShared>) {
  const file = await opening;
  // An export reads each page of the database once.
  await file.read({ sql: 'PRAGMA cache_size = -8192' });
  await file.read({ sql: 'BEGIN' });
  return file;
}
