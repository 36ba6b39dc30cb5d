// Fills a table of an existing database: node fill.mjs FILE COUNT notes|comments
import Database from 'better-sqlite3';

const [file, count, table] = process.argv.slice(2);
const database = new Database(file);
const numbers =
  'WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)';
const text = "'A body that is somewhat longer, as the bodies of notes tend to be. ' || n";
const columns = {
  notes: `(title, body) ${numbers} SELECT 'A title of usual length', ${text}`,
  comments: `(note_id, body) ${numbers} SELECT 1, ${text}`,
};
database.prepare(`INSERT INTO ${table} ${columns[table]} FROM number`).run(Number(count));
database.pragma('wal_checkpoint(TRUNCATE)');
database.close();
