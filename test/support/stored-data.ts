// Looks into the file of a service from beside it, as another program would: for what no answer tells.
import assert from 'node:assert/strict';
import sqlite3 from 'sqlite3';
import { checkFile, SOUNDNESS_QUERIES } from '../../src/storage/check.ts';
import { openRqlite } from '../../src/storage/rqlite.ts';
import { parseCluster } from '../../src/storage/rqlite-address.ts';
import { type Connection, openConnection } from '../../src/storage/sqlite-connection.ts';

/** Gives `work` a connection of its own to the database at `file`. */
export async function beside<Result>(file: string, work: (connection: Connection) => Promise<Result>): Promise<Result> {
  const connection = await openConnection(file, sqlite3.OPEN_READWRITE);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Asserts that the database is whole, that no comment has lost its note, and that the block counts are right. */
export async function assertSound(db: string): Promise<void> {
  const cluster = parseCluster(db);
  if (!cluster) {
    assert.deepEqual(await checkFile(db), []);
    return;
  }
  const database = await openRqlite({ ...cluster, password: undefined }, cluster.level);
  for (const sql of SOUNDNESS_QUERIES) assert.deepEqual(await database.read({ sql }), []);
  await database.close();
}

/**
 * Holds the write lock of the database at `file`, as another process could, until `work` has settled. A cluster cannot be
 * locked: there it is all done at one time, as far as it goes.
 */
export async function whileLocked<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  if (parseCluster(file)) return work();
  return beside(file, async (connection) => {
    await connection.execute('BEGIN IMMEDIATE');
    try {
      return await work();
    } finally {
      await connection.execute('ROLLBACK');
    }
  });
}
