// Databases with something in them, for the commands that go through all data.
import type { TestContext } from 'node:test';
import { newFile, openDatabase } from './databases.ts';

/** Texts that something between two programs might not let through. */
export const ODD_TEXTS = [
  'a\u0000b\u001f\u007f',
  '😀 \u{10ffff} \ufeff',
  `'"\\ /`,
  'a\u2028\u2029\r\n\t',
  '<&>',
  `x'41'`,
  'e\u0301',
];

/** Returns the path of a file with so many notes of a kilobyte, odd texts and gaps among them, two tags and a comment. */
export async function filledFile(test: Pick<TestContext, 'after'>, count: number): Promise<string> {
  const path = newFile(test);
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
  return path;
}
