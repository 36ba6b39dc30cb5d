// Looks into the file of a service from beside it, as another program would: for what no answer tells.
import assert from 'node:assert/strict';
import sqlite3 from 'sqlite3';
import { BLOCK_BITS } from '../../src/storage/migrations.ts';
import { type Connection, openConnection } from '../../src/storage/sqlite-connection.ts';

const TABLES = [
  { name: 'notes', blocks: 'note_blocks', key: '' },
  { name: 'tags', blocks: 'tag_blocks', key: '' },
  { name: 'comments', blocks: 'comment_blocks', key: 'note_id, ' },
];

/** Queries that find nothing in a file that is sound, by what they would find. */
const FAULTS = new Map([
  ['damage', "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"],
  ['comments without a note', 'SELECT * FROM pragma_foreign_key_check'],
  ...TABLES.map(({ name, blocks, key }): [string, string] => {
    const kept = `SELECT ${key}block, count FROM ${blocks}`;
    const counted = `SELECT ${key}id >> ${BLOCK_BITS} AS block, count(*) FROM ${name} GROUP BY ${key}block`;
    return [
      `counts in ${blocks} that a recount does not give`,
      `SELECT 'kept', * FROM (${kept} EXCEPT ${counted}) UNION ALL SELECT 'counted', * FROM (${counted} EXCEPT ${kept})`,
    ];
  }),
]);

/** Gives `work` a connection of its own to the database at `file`. */
export async function beside<Result>(file: string, work: (connection: Connection) => Promise<Result>): Promise<Result> {
  const connection = await openConnection(file, sqlite3.OPEN_READWRITE);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Asserts that the file is whole, that no comment has lost its note, and that the block counts are right. */
export async function assertSound(file: string): Promise<void> {
  await beside(file, async (connection) => {
    for (const [what, sql] of FAULTS) assert.deepEqual(await connection.run({ sql }), [], what);
  });
}

/** Holds the write lock of the database at `file`, as another process could, until `work` has settled. */
export async function whileLocked<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  return beside(file, async (connection) => {
    await connection.execute('BEGIN IMMEDIATE');
    try {
      return await work();
    } finally {
      await connection.execute('ROLLBACK');
    }
  });
}
