// Databases with records, for the commands that read all data.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkFile } from '../../src/commands/check.ts';
import { LAST_NUMBER } from '../../src/storage/numbers.ts';
import { newFile, openDatabase, withNumbers } from './databases.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { beside } from './stored-data.ts';

/** Texts that something between two programs might not let through. */
export const ODD_TEXTS = [
  ...['a\u0000b\u001f\u007f', '😀 \u{10ffff} \ufeff', `'"\\ /`, 'a\u2028\u2029\r\n\t', '<&>'],
  ...[`x'41'`, 'e\u0301'],
];

/** Holds each size of file once for all tests of the process, which get copies. */
const templates = temporaryFolder({ after: (remove) => process.once('exit', remove) });

/** Returns a file with `count + 6` notes, up to the id `count + 8`, a comment and tags on notes. */
export async function filledFile(test: Ends, count: number): Promise<string> {
  const template = join(templates, `${count}.db`);
  if (!existsSync(template)) await fill(test, template, count);
  const path = newFile(test);
  copyFileSync(template, path);
  return path;
}

async function fill(test: Ends, path: string, count: number): Promise<void> {
  const database = await openDatabase(test, path);
  await database.transact([
    {
      sql: `${withNumbers(count)} INSERT INTO notes (title, body, number, created_at)
            SELECT 'title ' || n, printf('%.*c', 1000, 'x'), n, 1700000000000 + n FROM numbers`,
    },
    {
      sql: `INSERT INTO notes (title, body, number)
            SELECT value, value, ${LAST_NUMBER} + key + 1 FROM json_each(?1)`,
      parameter: JSON.stringify(ODD_TEXTS),
    },
    { sql: `INSERT INTO notes (title, body, number) VALUES ('gone', 'b', ${LAST_NUMBER} + 1)` },
    { sql: `DELETE FROM notes WHERE title = 'gone' OR id = 2` },
    {
      sql: `INSERT INTO tags (name, number)
            VALUES ('a', ${LAST_NUMBER} + 1), ('b', ${LAST_NUMBER} + 2)`,
    },
    {
      sql: `INSERT INTO comments (note_id, body, number) VALUES (1, 'on one', ${LAST_NUMBER} + 1)`,
    },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) VALUES (1, 1), (1, 2), (3, 1)' },
  ]);
  await database.close();
}

/** Returns how many notes there are in a file, which must be sound. */
export async function notesIn(file: string): Promise<unknown> {
  assert.deepEqual(await checkFile(file), []);
  const count = { sql: 'SELECT count(*) AS notes FROM notes' };
  const [row] = await beside(file, (connection) => connection.run(count));
  return row?.notes;
}
