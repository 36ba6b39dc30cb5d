// Opens the database that a command reads or repairs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCluster, prepare, type StorageOptions } from '../open.ts';
import { DatabaseUnusable, type Source } from '../storage/database.ts';
import { lastNumber } from '../storage/numbers.ts';
import { refuseUnfinished } from '../storage/schema/migrations.ts';
import { unusable } from '../storage/sqlite/unusable.ts';
import { openAlone, openShared, openToInspect } from './existing.ts';

const OPENERS = {
  export: openSnapshot,
  backup: openShared,
  inspect: openToInspect,
  repair: openAlone,
} as const;

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

async function openSnapshot(path: string) {
  const file = await openShared(path);
  await file.read({ sql: 'BEGIN' });
  return file;
}
