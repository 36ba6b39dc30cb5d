// A program for tests that kill it: `node big-writer.js FILE NOTE`. For each line of its standard
// input, it writes the line to a note and to all of its comments in one large transaction, and
// prints it when the transaction has ended.
import { createInterface } from 'node:readline';
import sqlite3 from 'sqlite3';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { titleOf } from './ledger-reader.ts';

const [path = '', note] = process.argv.slice(2);
const connection = await openConnection(path, sqlite3.OPEN_READWRITE);
// With a small cache, most of a transaction is in the log before it commits.
await connection.execute(
  'PRAGMA busy_timeout = 20000; PRAGMA synchronous = OFF; PRAGMA cache_size = 10',
);
process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin)) {
  await connection.execute(`
    BEGIN IMMEDIATE;
    UPDATE notes SET title = '${titleOf(line)}', body = '${line}' WHERE id = ${note};
    UPDATE comments SET body = '${line}' WHERE note_id = ${note};
    COMMIT`);
  process.stdout.write(`${line}\n`);
}
