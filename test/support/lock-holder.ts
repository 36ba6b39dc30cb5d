// A program that runs SQL on files and holds its locks until its standard input ends: `node
// lock-holder.js [FILE SQL]...`. It prints a line once it has all of them.
import { text } from 'node:stream/consumers';
import sqlite3 from 'sqlite3';
import { type Connection, openConnection } from '../../src/storage/sqlite/connection.ts';

const args = process.argv.slice(2);
const connections: Connection[] = [];
for (let place = 0; place < args.length; place += 2) {
  const connection = await openConnection(args[place] ?? '', sqlite3.OPEN_READWRITE);
  await connection.execute(args[place + 1] ?? '');
  connections.push(connection);
}
process.stdout.write('held\n');
await text(process.stdin);
await Promise.all(connections.map((connection) => connection.close()));
