// From an empty file to the tables of this version, also with several programs at once. Other files
// are left alone.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { comments } from '../../src/resources/comments.ts';
import { RESOURCES } from '../../src/resources/resources.ts';
import { tags } from '../../src/resources/tags.ts';
import { DatabaseUnusable } from '../../src/storage/database.ts';
import { migrate, SCHEMA_VERSION } from '../../src/storage/schema/migrations.ts';
import { blockCounter } from '../../src/storage/schema/steps.ts';
import { openSqlite } from '../../src/storage/sqlite/engine.ts';
import {
  change,
  contentsOf,
  newFile,
  openDatabase,
  openEmpty,
  openOther,
  overhear,
  rows,
  writeForeignFile,
} from '../support/databases.ts';
import { assertMigrated, fillFirstVersion } from './first-version-suite.ts';

const VERSIONS = 'SELECT version FROM notes_server_versions ORDER BY version';

/** The versions of a database after all steps. */
const CURRENT = Array.from({ length: SCHEMA_VERSION }, (_, index) => ({ version: index + 1 }));

/** Lists the tables and whether each is STRICT. */
const TABLES = `SELECT name, strict FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`;

const TAG_COUNTER = [
  'CREATE TABLE tag_blocks (block INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT',
  `CREATE TRIGGER tag_added AFTER INSERT ON tags BEGIN
     INSERT INTO tag_blocks (block, count) VALUES (new.id >> 10, 1)
       ON CONFLICT (block) DO UPDATE SET count = count + 1;
   END`,
  `CREATE TRIGGER tag_removed AFTER DELETE ON tags BEGIN
     UPDATE tag_blocks SET count = count - 1 WHERE block = old.id >> 10;
     DELETE FROM tag_blocks WHERE block = old.id >> 10 AND count = 0;
   END`,
];
const OF_BLOCK = 'note_id = old.note_id AND block = old.id >> 10';
const COMMENT_COUNTER = [
  `CREATE TABLE comment_blocks (
     note_id INTEGER NOT NULL,
     block INTEGER NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (note_id, block)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER comment_added AFTER INSERT ON comments BEGIN
     INSERT INTO comment_blocks (note_id, block, count) VALUES (new.note_id, new.id >> 10, 1)
       ON CONFLICT (note_id, block) DO UPDATE SET count = count + 1;
   END`,
  `CREATE TRIGGER comment_removed AFTER DELETE ON comments BEGIN
     UPDATE comment_blocks SET count = count - 1 WHERE ${OF_BLOCK};
     DELETE FROM comment_blocks WHERE ${OF_BLOCK} AND count = 0;
   END`,
];
/** The first step, to the letter: every database in use was created by it. */
const STEP_1 = [
  'CREATE TABLE IF NOT EXISTS notes_server_versions (version INTEGER PRIMARY KEY) STRICT',
  'INSERT INTO notes_server_versions (version) VALUES (1)',
  'CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, ' +
    'title TEXT NOT NULL, body TEXT NOT NULL) STRICT',
  ...TAG_COUNTER.map((sql) => sql.replaceAll('tag', 'note')),
  'CREATE TABLE tags (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT',
  ...TAG_COUNTER,
  `CREATE TABLE comments (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     note_id INTEGER NOT NULL REFERENCES notes (id) ON DELETE CASCADE,
     body TEXT NOT NULL
   ) STRICT`,
  'CREATE INDEX comments_of_note ON comments (note_id)',
  ...COMMENT_COUNTER,
];

test('migrations: a released step never changes', async (t) => {
  const { database, transactions } = overhear(await openEmpty(t));
  await migrate(database);
  const [first] = transactions;
  const plain = (sql: string) => sql.replace(/\/\*.*?\*\/\s*/g, '').replace(/\(\s+/g, '(');
  assert.deepEqual(
    first?.statements.map(({ sql }) => plain(sql)),
    STEP_1.map(plain),
  );
  assert.equal(transactions.length, SCHEMA_VERSION);
});

test('migrations: the schema explains the auxiliary tables', async (t) => {
  const tables = await rows(
    await openDatabase(t),
    `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%/*%' ORDER BY name`,
  );
  const comments = tables.map(({ name, sql }) => [name, /\(\/\* (.*) \*\/ /.exec(`${sql}`)?.[1]]);
  assert.deepEqual(Object.fromEntries(comments), {
    changes: 'the latest 1000000 changes by their number; triggers log them',
    comment_blocks:
      'how many comments of each note have an id in each block (id >> 10); ' +
      'triggers keep these counts',
    note_blocks: 'how many notes have an id in each block (id >> 10); triggers keep these counts',
    note_tag_blocks: 'how many notes of each tag have an id in each block (id >> 10)',
    note_tags: 'the tags of each note',
    note_words_position: 'the last change that the index note_words contains',
    notes_server_answers: 'how requests with an Idempotency-Key were answered',
    notes_server_generation: 'the first part of every entity tag; restore and import renew it',
    notes_server_versions: 'the versions of the schema that this database has had',
    tag_blocks: 'how many tags have an id in each block (id >> 10); triggers keep these counts',
  });
});

test('migrations: the counters of a table, with and without owners', () => {
  assert.deepEqual(blockCounter(tags), TAG_COUNTER);
  assert.deepEqual(blockCounter(comments), COMMENT_COUNTER);
});

test('migrations: an empty database gets STRICT tables and a version', async (t) => {
  const database = await openDatabase(t);
  const names = [
    ...['versions', 'generation', 'answers'].map((name) => `notes_server_${name}`),
    ...['changes', 'note_tags', 'note_tag_blocks', 'note_words_position'],
    ...RESOURCES.flatMap(({ table, blocks }) => [table, blocks]),
  ].sort();
  assert.deepEqual(
    await rows(database, TABLES),
    names.map((name) => ({ name, strict: 1 })),
  );
  assert.deepEqual(await rows(database, VERSIONS), CURRENT);
});

test('migrations: types, unique ids, and comments deleted with notes', async (t) => {
  const database = await openDatabase(t);
  await change(database, `INSERT INTO notes (id, title, body) VALUES (1, 'a', 'b')`);
  const refused = [
    `INSERT INTO notes (title, body) VALUES (x'00', 'b')`,
    `INSERT INTO notes (title, body) VALUES ('a', NULL)`,
    `INSERT INTO tags (id, name) VALUES ('one', 'a')`,
    `INSERT INTO comments (note_id, body) VALUES (2, 'an orphan')`,
  ];
  for (const sql of refused)
    await assert.rejects(change(database, sql), /SQLITE_CONSTRAINT|SQLITE_MISMATCH/, sql);

  for (const [table, insert] of [
    ['comments', `INSERT INTO comments (note_id, body) VALUES (1, 'a') RETURNING id`],
    ['tags', `INSERT INTO tags (name) VALUES ('a') RETURNING id`],
    ['notes', `INSERT INTO notes (title, body, number) VALUES ('a', 'b', 9) RETURNING id`],
  ] as const) {
    const [first] = await change(database, insert);
    await change(database, `DELETE FROM ${table} WHERE id = ${first?.id}`);
    assert.deepEqual(await change(database, insert), [{ id: Number(first?.id) + 1 }], table);
  }
  await change(database, 'DELETE FROM notes WHERE id = 1');
  assert.deepEqual(await rows(database, 'SELECT count(*) AS count FROM comments'), [{ count: 0 }]);
});

test('migrations: a current database is not changed', async (t) => {
  const path = newFile(t);
  await (await openDatabase(t, path)).close();
  const before = contentsOf(dirname(path));
  const { database, transactions } = overhear(await openEmpty(t, path));
  await migrate(database);
  assert.deepEqual(transactions, []);
  await database.close();
  assert.deepEqual(contentsOf(dirname(path)), before);
});

test('migrations: each step runs once, in order', async (t) => {
  const { database, transactions } = overhear(await openEmpty(t));
  const steps = [
    ['CREATE TABLE one (a INTEGER) STRICT', 'INSERT INTO one VALUES (7)'],
    ['CREATE TABLE two (a INTEGER) STRICT', 'INSERT INTO two SELECT a FROM one', 'DROP TABLE one'],
    ['INSERT INTO two VALUES (8)'],
  ];
  await migrate(database, steps.slice(0, 1));
  await migrate(database, steps);
  await migrate(database, steps);
  assert.deepEqual(await rows(database, 'SELECT a FROM two'), [{ a: 7 }, { a: 8 }]);
  assert.deepEqual(await rows(database, VERSIONS), [
    { version: 1 },
    { version: 2 },
    { version: 3 },
  ]);
  assert.equal(transactions.length, 3);
});

test('migrations: a failed step has no effect and can be repeated', async (t) => {
  const database = await openEmpty(t);
  const first = ['CREATE TABLE one (a INTEGER) STRICT'];
  const made = 'CREATE TABLE two (a INTEGER) STRICT';
  await assert.rejects(
    migrate(database, [first, [made, 'INSERT INTO nowhere VALUES (1)']]),
    /no such table: nowhere/,
  );
  const tables = await rows(database, TABLES);
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['notes_server_versions', 'one'],
  );
  assert.deepEqual(await rows(database, VERSIONS), [{ version: 1 }]);

  await migrate(database, [first, [made]]);
  assert.deepEqual(await rows(database, VERSIONS), [{ version: 1 }, { version: 2 }]);
});

test('migrations: two at once migrate once', async (t) => {
  const path = newFile(t);
  const databases = [await openEmpty(t, path), await openEmpty(t, path)];
  await Promise.all(databases.map((database) => migrate(database)));
  for (const database of databases) assert.deepEqual(await rows(database, VERSIONS), CURRENT);
});

test('migrations: several processes migrate the records of version 1 once', async (t) => {
  const path = newFile(t);
  const databases = [await openEmpty(t, path), await openEmpty(t, path)];
  const [database] = databases;
  assert.ok(database);
  await fillFirstVersion(database);
  const program = `
    import { openPath } from ${JSON.stringify(new URL('../support/databases.js', import.meta.url))};
    await (await openPath(${JSON.stringify(path)})).close();`;
  const processes = [1, 2].map(() =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]),
  );
  await Promise.all([...databases.map((each) => migrate(each)), ...processes]);
  await assertMigrated(database);
});

test('migrations: several open one new file at once', async (t) => {
  for (let round = 0; round < 6; round += 1) {
    const path = newFile(t);
    const opened = await Promise.all([1, 2, 3].map(() => openDatabase(t, path)));
    await Promise.all(opened.map(({ close }) => close()));
  }
});

test('migrations: a start waits for the write of another program', async (t) => {
  const path = newFile(t);
  const other = await openOther(t, path);
  await other.execute('BEGIN IMMEDIATE');
  const opening = openDatabase(t, path);
  // Much longer than a start takes to find the lock.
  for (let trip = 0; trip < 100; trip += 1) await other.run({ sql: 'SELECT 1' });
  await other.execute('ROLLBACK');
  assert.deepEqual(await rows(await opening, VERSIONS), CURRENT);
});

async function assertLeftAlone(path: string, reason: RegExp): Promise<void> {
  const before = contentsOf(dirname(path));
  await assert.rejects(
    openSqlite(path),
    (error) => error instanceof DatabaseUnusable && reason.test(error.message),
  );
  assert.deepEqual(contentsOf(dirname(path)), before);
}

for (const journal of ['DELETE', 'WAL']) {
  for (const { whose, sql, reason } of [
    {
      whose: 'of another program',
      sql: 'CREATE TABLE theirs (a)',
      reason: /belongs to another program/,
    },
    {
      whose: 'of another program with versions',
      sql: 'CREATE TABLE schema_versions (version INTEGER); INSERT INTO schema_versions VALUES (1)',
      reason: /belongs to another program/,
    },
    {
      whose: 'of a newer version',
      sql: `CREATE TABLE notes_server_versions (version INTEGER);
            INSERT INTO notes_server_versions VALUES (1), (99)`,
      reason: /it has version 99, made by a newer notes-server; this one knows \d+/,
    },
  ]) {
    test(`migrations: a file ${whose} is refused (${journal})`, async (t) => {
      const path = newFile(t);
      await writeForeignFile(path, `PRAGMA journal_mode = ${journal}; ${sql}`);
      await assertLeftAlone(path, reason);
    });
  }
}

test('migrations: a newer version is refused without a check before', async (t) => {
  const database = await openEmpty(t);
  await migrate(database, [['CREATE TABLE one (a) '], ['CREATE TABLE two (a)']]);
  await assert.rejects(migrate(database, [['CREATE TABLE one (a)']]), DatabaseUnusable);
});

test('migrations: a SQLite file without tables is used', async (t) => {
  const path = newFile(t);
  // The internal table that SQLite leaves here does not count.
  await writeForeignFile(
    path,
    'CREATE TABLE passing (a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE passing',
  );
  assert.deepEqual(await rows(await openDatabase(t, path), VERSIONS), CURRENT);
});
