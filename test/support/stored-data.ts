// Reads the file of a service directly, to check what answers do not show.
import assert from 'node:assert/strict';
import sqlite3 from 'sqlite3';
import { parseDatabase } from '../../src/cli/option-values.ts';
import { checkFile, soundnessQueries } from '../../src/commands/check.ts';
import { type Connection, openConnection } from '../../src/storage/sqlite/connection.ts';

/** Runs `work` with its own connection to the database at `file`. */
export async function beside<Result>(
  file: string,
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await openConnection(file, sqlite3.OPEN_READWRITE);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Asserts that a database is intact, with right counts and no comment without its note. */
export async function assertSound(db: string): Promise<void> {
  const cluster = parseDatabase(db);
  if (cluster.kind !== 'cluster') {
    assert.deepEqual(await checkFile(db), []);
    return;
  }
  const database = await cluster.open('serve');
  for (const sql of soundnessQueries()) assert.deepEqual(await database.read({ sql }), []);
  await database.close();
  assert.deepEqual(await nodeFaults(db), []);
}

/** Resolves with the differences between the nodes of a cluster. */
export function nodeFaults(db: string): Promise<string[]> {
  const cluster = parseDatabase(db);
  assert.ok(cluster.kind === 'cluster');
  return cluster.check();
}

/** Holds the write lock of `file` until `work` has settled. A cluster is not locked. */
export async function whileLocked<Result>(
  file: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (parseDatabase(file).kind === 'cluster') return work();
  return beside(file, async (connection) => {
    await connection.execute('BEGIN IMMEDIATE');
    try {
      return await work();
    } finally {
      await connection.execute('ROLLBACK');
    }
  });
}
