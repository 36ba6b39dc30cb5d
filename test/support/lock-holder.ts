// A program of its own that runs SQL on a file and holds on to the locks it got until its standard input ends:
// `node lock-holder.js FILE SQL`. It prints a line once it has them.
import { text } from 'node:stream/consumers';
import sqlite3 from 'sqlite3';
import { openConnection } from '../../src/storage/sqlite-connection.ts';

const [path = '', sql = ''] = process.argv.slice(2);
const connection = await openConnection(path, sqlite3.OPEN_READWRITE);
await connection.execute(sql);
process.stdout.write('held\n');
await text(process.stdin);
await connection.close();
