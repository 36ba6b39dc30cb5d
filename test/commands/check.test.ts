// The check of a database file finds every planted fault, and changes nothing.
import assert from 'node:assert/strict';
import { copyFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { LAST_NUMBER } from '../../src/storage/numbers.ts';
import {
  change,
  contentsOf,
  damagePageOf,
  LOSE_INDEXED_ROW,
  newFile,
  openDatabase,
  openOther,
  PWN,
  withNumbers,
  writeForeignFile,
} from '../support/databases.ts';

/** A closed database with notes, tags and comments, some of each deleted again, to copy. */
const filled = newFile({ after });

before(async () => {
  const database = await openDatabase({ after }, filled);
  for (const sql of [
    `${withNumbers(3_000)} INSERT INTO notes (title, body, number)
     SELECT 'note ' || n || '!', hex(zeroblob(50)), n FROM numbers`,
    `${withNumbers(50)} INSERT INTO tags (name, number)
     SELECT 'tag ' || n, 3_000 + n FROM numbers`,
    `${withNumbers(50)} INSERT INTO comments (note_id, body, number)
     SELECT n, 'comment', 3_050 + n FROM numbers`,
    'INSERT INTO note_tags (note_id, tag_id) VALUES (1, 1), (1, 2), (2, 1)',
    'DELETE FROM notes WHERE id % 3 = 0',
    'DELETE FROM tags WHERE id > 48',
    'DELETE FROM comments WHERE id = 1',
  ]) {
    await change(database, sql);
  }
  await database.close();
});

function copyFilled(test: TestContext): string {
  const path = newFile(test);
  copyFileSync(filled, path);
  return path;
}

test('check: a new database of the service is sound', async (t) => {
  const path = newFile(t);
  await openDatabase(t, path);
  assert.deepEqual(await checkFile(path), []);
});

const NO_GENERATION = /^notes_server_generation: there must be one generation of 8 hex digits$/;

/** Faults that SQL can plant, and the lines that report them. */
const PLANTED: Record<string, readonly [sql: string, ...lines: RegExp[]]> = {
  'a count that is too high': [
    'UPDATE note_blocks SET count = count + 1 WHERE block = 2',
    /^note_blocks: block 2 counts 636 records, but there are 635$/,
  ],
  'a count that is missing': [
    'DELETE FROM comment_blocks WHERE note_id = 7',
    /^comment_blocks: block 0 of note 7 counts 0 records, but there are 1$/,
  ],
  'a count of what is not there': [
    'INSERT INTO tag_blocks VALUES (5, 3)',
    /^tag_blocks: block 5 counts 3 records, but there are 0$/,
  ],
  'a wrong count of links': [
    'UPDATE note_tag_blocks SET count = 3 WHERE tag_id = 2',
    /^note_tag_blocks: block 0 of tag 2 counts 3 records, but there are 1$/,
  ],
  'times beyond the bounds of their block': [
    'UPDATE note_number_blocks SET updated_from = 1, updated_to = 5',
    /^note_number_blocks: the times of block 0 do not bound those of its records$/,
  ],
  'bounds of a record without a time': [
    `UPDATE notes SET created_at = NULL WHERE id = 7;
     UPDATE note_blocks SET created_from = 1, created_to = 1e15 WHERE block = 0`,
    /^note_blocks: the times of block 0 do not bound those of its records$/,
  ],
  'a bound without the other one': [
    'UPDATE note_blocks SET updated_from = NULL, updated_to = 1e15 WHERE block = 0',
    /^note_blocks: the times of block 0 do not bound those of its records$/,
  ],
  'a comment without its note': [
    'UPDATE comments SET note_id = 9000 WHERE id = 7; DELETE FROM comment_blocks',
    /^comments: record 7 has no note$/,
  ],
  'a link without its tag': [
    "DELETE FROM tags WHERE id = 2; DELETE FROM erased_records WHERE type = 'tag'",
    /^note_tags: record 1 has no tag$/,
  ],
  'a number that was never assigned': [
    "UPDATE sqlite_sequence SET seq = 3_040 WHERE name = 'changes'",
    /^tags: record 48 has the number 3048, which was never assigned$/,
  ],
  'a record without a number': [
    'UPDATE tags SET number = 0 WHERE id = 3',
    /^tags: record 3 has the number 0, which was never assigned$/,
  ],
  'a number that two records have': [
    'UPDATE tags SET number = 2 WHERE id = 3',
    /^the number 2 belongs to 2 records, such as note 2 and tag 3$/,
  ],
  'a record whose last change in the log is another one': [
    "INSERT INTO changes (number, type, id) VALUES (9_000, 'note.updated', 2)",
    /^notes: record 2 has the number 2, but its last change in the log is 9000, note.updated$/,
  ],
  'a record that the log calls deleted': [
    "UPDATE changes SET type = 'comment.deleted' WHERE number = 3_100",
    /^comments: record 50 has the number 3100, but its last change .* is 3100, comment.deleted$/,
  ],
  'a missing generation': ['DELETE FROM notes_server_generation', NO_GENERATION],
  'a malformed generation': [
    "UPDATE notes_server_generation SET generation = '0123abcG'",
    NO_GENERATION,
  ],
  'two generations': [
    `UPDATE notes_server_generation SET generation = '11111111';
     INSERT INTO notes_server_generation (generation) VALUES ('22222222')`,
    NO_GENERATION,
  ],
  'ids that would be given again': [
    "UPDATE sqlite_sequence SET seq = 5 WHERE name = 'tags'",
    /^tags: record 48 exceeds the last assigned id$/,
  ],
  'an index that lacks a record': [
    LOSE_INDEXED_ROW,
    /^wrong # of entries in index comments_of_note$/,
  ],
  'an unfinished import': [
    'CREATE TABLE notes_server_import (begun INTEGER) STRICT',
    /^it holds an unfinished import: run the import again$/,
  ],
  'a table that is gone': ['DROP TABLE tag_blocks', /no such table: .*tag_blocks/],
  'a name without its note': [
    "PRAGMA foreign_keys = OFF; INSERT INTO note_names VALUES (9000, 'a', '')",
    /^note_names: record 9000 has no note$/,
  ],
  'a note that is in the trash, too': [
    'UPDATE deleted_notes SET id = 7 WHERE id = 3',
    /^deleted_notes: note 7 is not deleted$/,
  ],
  'a wrong count of the trash': [
    'UPDATE deleted_note_blocks SET count = 3',
    /^deleted_note_blocks: block 0 counts 3 records, but there are 1000$/,
  ],
  'an earlier text of no note': [
    "INSERT INTO note_versions VALUES (1, 9000, 1, NULL, NULL, 'a', 'b')",
    /^note_versions: record 1 has no note$/,
  ],
  'several faults': [
    'DELETE FROM note_blocks WHERE block = 0; UPDATE tag_blocks SET count = 1',
    /^note_blocks: block 0 counts 0 records, but there are 682$/,
    /^tag_blocks: block 0 counts 1 records, but there are 48$/,
  ],
};

for (const [what, [sql, ...lines]] of Object.entries(PLANTED)) {
  test(`check: finds ${what}`, async (t) => {
    const path = copyFilled(t);
    await writeForeignFile(path, sql);
    const faults = await checkFile(path);
    const isFound = (line: RegExp) => faults.some((fault) => line.test(fault));
    assert.ok(lines.every(isFound), faults.join('\n'));
  });
}

test('check: finds damaged pages, one line each', async (t) => {
  const path = copyFilled(t);
  for (const text of ['note 500!', 'note 2000!']) damagePageOf(path, text);
  const faults = await checkFile(path);
  assert.match(faults.join('\n'), /^Tree \d+ page \d+: /m);
  for (const fault of faults) assert.doesNotMatch(fault, /\n/);
});

test('check: reports the first 25 faults of a kind', async (t) => {
  const path = copyFilled(t);
  await writeForeignFile(
    path,
    `UPDATE comments SET note_id = 9000 + id; DELETE FROM comment_blocks;
     INSERT INTO comment_blocks SELECT note_id, id >> 10, count(*) FROM comments GROUP BY note_id`,
  );
  assert.equal((await checkFile(path)).length, 25);
  await writeForeignFile(path, 'UPDATE comment_blocks SET count = 9');
  assert.equal((await checkFile(path)).length, 50);
});

/** Returns a function that adds to a file what a service leaves that was killed after `sql`. */
async function addLeftovers(test: TestContext, path: string, sql: string): Promise<() => void> {
  const running = newFile(test);
  copyFileSync(path, running);
  await change(await openDatabase(test, running), sql);
  return () => {
    for (const companion of ['-wal', '-shm'])
      copyFileSync(`${running}${companion}`, `${path}${companion}`);
  };
}

for (const where of ['at rest', 'after a crash']) {
  test(`check: does not change a database ${where}`, async (t) => {
    const path = copyFilled(t);
    const values = `('in the log alone', ${LAST_NUMBER} + 1)`;
    const add = await addLeftovers(t, path, `INSERT INTO tags (name, number) VALUES ${values}`);
    if (where !== 'at rest') add();
    // The first reader of the log rebuilds the shared index.
    const contents = () => ({ ...contentsOf(dirname(path)), 'notes.db-shm': undefined });
    const before = contents();
    assert.deepEqual(await checkFile(path), []);
    assert.deepEqual(contents(), before);
    const count = { sql: 'SELECT count(*) AS count FROM tags' };
    const found = await (await openOther(t, path)).run(count);
    assert.deepEqual(found, [{ count: where === 'at rest' ? 48 : 49 }]);
  });
}

test('check: finds tables, indexes and triggers that are missing', async (t) => {
  const path = copyFilled(t);
  const drops = ['TRIGGER note_changed', 'TABLE notes_server_answers', 'INDEX comments_of_note'];
  await writeForeignFile(path, drops.map((what) => `DROP ${what}`).join('; '));
  const missing = ['comments_of_note', 'note_changed', 'notes_server_answers', 'answers_by_time'];
  const faults = missing.map((name) => `the schema has no ${name}`);
  assert.deepEqual((await checkFile(path)).sort(), faults.sort());
});

test('check: reads the log too, whatever the name of the file', async (t) => {
  const path = copyFilled(t);
  (await addLeftovers(t, path, 'DELETE FROM tag_blocks'))();
  const link = newFile(t);
  symlinkSync(path, link);
  const strange = join(dirname(path), 'a b?c#d%41.db');
  for (const companion of ['', '-wal', '-shm'])
    copyFileSync(`${path}${companion}`, `${strange}${companion}`);
  const fault = 'tag_blocks: block 0 counts 0 records, but there are 48';
  for (const name of [path, link, strange, relative('.', path)])
    assert.deepEqual(await checkFile(name), [fault], name);
});

test('check: a service that starts to use the file meanwhile does not matter', async (t) => {
  const path = copyFilled(t);
  const add = await addLeftovers(t, path, 'DELETE FROM tag_blocks');
  const checking = checkFile(path);
  add();
  assert.deepEqual(await checking, []);
});

test('check: begins again when the file changes, once', async (t) => {
  const [path, other] = [copyFilled(t), copyFilled(t)];
  await writeForeignFile(other, 'DELETE FROM tag_blocks');
  let changes = 1;
  // The progress begins anew with each attempt.
  const onProgress = (done: number) => {
    if (done > 0 || changes === 0) return;
    changes -= 1;
    copyFileSync(other, path);
  };
  const fault = 'tag_blocks: block 0 counts 0 records, but there are 48';
  assert.deepEqual(await checkFile(path, { onProgress }), [fault]);
  changes = 2;
  await assert.rejects(checkFile(path, { onProgress }), /has changed: run the command again$/);
});

/** Writes to the text that SQLite keeps of a part of the schema. */
const rewrite = (name: string, from: string, to: string) => `
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}') WHERE name = '${name}'`;

/** What does not belong to the schema: how it gets there, and the line about it. */
const FOREIGN: Record<string, readonly [sql: string, line: string]> = {
  'a trigger': [PWN, 'the trigger pwned is not of the schema'],
  'a trigger with the name of a known table': [
    PWN.replace('pwned', '_litestream_seq'),
    'the trigger _litestream_seq is not of the schema',
  ],
  'a view': ['CREATE VIEW seen AS SELECT 1', 'the view seen is not of the schema'],
  'a unique index': [
    'CREATE UNIQUE INDEX one ON notes (title)',
    'the index one is not of the schema',
  ],
  'an index of an expression': [
    'CREATE INDEX bodies ON notes (body = title)',
    'the index bodies is not of the schema',
  ],
  'an index of some rows': [
    'CREATE INDEX few ON notes (title) WHERE id < 9',
    'the index few is not of the schema',
  ],
  'a table that refers to notes': [
    'CREATE TABLE pins (note_id REFERENCES notes)',
    'the table pins is not of the schema',
  ],
  'a changed trigger': [
    rewrite('note_text_kept', '1000', '1001'),
    'the trigger note_text_kept was changed',
  ],
  'a changed table': [
    'ALTER TABLE tags ADD COLUMN colour TEXT CHECK (colour = 1)',
    'the table tags was changed',
  ],
  'a view in place of an index': [
    'DROP INDEX tags_by_name; CREATE VIEW tags_by_name AS SELECT 1',
    'the view tags_by_name is not of the schema',
  ],
};

for (const [what, [sql, line]] of Object.entries(FOREIGN)) {
  test(`check: finds ${what} in the schema`, async (t) => {
    const path = copyFilled(t);
    await writeForeignFile(path, sql);
    const faults = await checkFile(path);
    assert.ok(faults.includes(line), faults.join('\n'));
  });
}

test('check: names other tables and indexes, which are no faults', async (t) => {
  const path = copyFilled(t);
  await writeForeignFile(
    path,
    `CREATE TABLE own (a); CREATE INDEX titles ON notes (title); ANALYZE;
     CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
     CREATE VIRTUAL TABLE found USING fts5(text)`,
  );
  const lines: string[] = [];
  const onHarmless = (line: string) => void lines.push(line);
  assert.deepEqual(await checkFile(path, { onHarmless }), []);
  assert.deepEqual(lines.slice(0, 3), [
    'the table own is not of the schema',
    'the index titles is not of the schema',
    'the table found is not of the schema',
  ]);
});
