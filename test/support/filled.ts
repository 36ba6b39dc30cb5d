// Databases with records, for the commands that read all data.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { newFile, openDatabase } from './databases.ts';
import { temporaryFolder } from './engine.ts';
import { beside } from './stored-data.ts';

/** Texts that something between two programs might not let through. */
export const ODD_TEXTS = [
  ...['a\u0000b\u001f\u007f', '😀 \u{10ffff} \ufeff', `'"\\ /`, 'a\u2028\u2029\r\n\t', '<&>'],
  ...[`x'41'`, 'e\u0301'],
];

/** Holds each size of file once; the tests get copies. */
const templates = temporaryFolder({ after });

/**
 * Returns the path of a file with `count` notes of one kilobyte, notes with odd texts, gaps between
 * the ids, two tags and a comment. It holds `count + 6` notes and the last id is `count + 8`.
 */
export async function filledFile(test: Pick<TestContext, 'after'>, count: number): Promise<string> {
  const template = join(templates, `${count}.db`);
  if (!existsSync(template)) await fill(test, template, count);
  const path = newFile(test);
  copyFileSync(template, path);
  return path;
}

/** Returns the id of a process that has ended. */
export function endedProcess(): number {
  return spawnSync('true').pid;
}

async function fill(test: Pick<TestContext, 'after'>, path: string, count: number): Promise<void> {
  const database = await openDatabase(test, path);
  await database.transact('fill', [
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
            INSERT INTO notes (title, body) SELECT 'title ' || i, printf('%.*c', 1000, 'x') FROM n`,
    },
    {
      sql: 'INSERT INTO notes (title, body) SELECT value, value FROM json_each(?1)',
      parameter: JSON.stringify(ODD_TEXTS),
    },
    { sql: `INSERT INTO notes (title, body) VALUES ('gone', 'b')` },
    { sql: `DELETE FROM notes WHERE title = 'gone' OR id = 2` },
    { sql: `INSERT INTO tags (name) VALUES ('a'), ('b')` },
    { sql: `INSERT INTO comments (note_id, body) VALUES (1, 'on one')` },
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
