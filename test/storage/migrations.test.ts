// From an empty file to the tables of this version, also with several programs at once. Other files
// are left alone.
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { KEPT_CHANGES } from '../../src/changes/changes.ts';
import { blockCountsOf } from '../../src/commands/check.ts';
import { BLOCK_BITS } from '../../src/list-extension.ts';
import { SEARCHABLE, searchedFieldsOf } from '../../src/search/steps.ts';
import type { Statement } from '../../src/storage/database.ts';
import { migrate, SCHEMA_VERSION } from '../../src/storage/schema/migrations.ts';
import { RELATIONS, STEPS } from '../../src/storage/schema/steps.ts';
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

const VERSIONS = 'SELECT version FROM notes_server_schema ORDER BY version';

/** The versions of a database after all steps. */
const CURRENT = Array.from({ length: SCHEMA_VERSION }, (_, index) => ({ version: index + 1 }));

/** Lists the tables and whether each is STRICT. */
const TABLES = `SELECT name, strict FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`;

/** The tables, views and triggers without a comment; FTS5 creates those of the index itself. */
const UNEXPLAINED = `SELECT name FROM sqlite_schema WHERE type <> 'index' AND sql NOT LIKE '%-- %'
                     AND name NOT LIKE 'note\\_words%' ESCAPE '\\' AND name <> 'sqlite_sequence'`;

test('migrations: an empty database gets STRICT tables, a version and comments', async (t) => {
  const database = await openDatabase(t);
  const tables = await rows(database, TABLES);
  assert.deepEqual(
    tables.filter(({ strict }) => strict !== 1),
    [],
  );
  const names = tables.map(({ name }) => name);
  for (const relation of RELATIONS)
    for (const { table } of [relation, ...blockCountsOf(relation)])
      assert.ok(names.includes(table));
  assert.deepEqual(await rows(database, VERSIONS), CURRENT);
  assert.deepEqual(await rows(database, UNEXPLAINED), []);
});

test('migrations: triggers and the service agree on blocks and kept changes', async (t) => {
  const triggers = await rows(
    await openDatabase(t),
    `SELECT sql FROM sqlite_schema WHERE type = 'trigger'`,
  );
  const numbers = triggers.flatMap(({ sql }) =>
    [...String(sql).matchAll(/>> (\d+)|number - (\d+)/g)].map(([text]) => text),
  );
  assert.deepEqual(new Set(numbers), new Set([`>> ${BLOCK_BITS}`, `number - ${KEPT_CHANGES}`]));
});

test('migrations: the searched fields are the columns of the search index', async (t) => {
  const database = await openDatabase(t);
  for (const resource of SEARCHABLE) {
    const sql = `SELECT name FROM pragma_table_info('${resource.search.table}')`;
    const columns = (await rows(database, sql)).map(({ name }) => name);
    assert.deepEqual(columns, searchedFieldsOf(resource));
  }
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
    'CREATE TABLE one (a INTEGER) STRICT;\n\nINSERT INTO one VALUES (7);\n',
    'CREATE TABLE two (a INTEGER);\n\nINSERT INTO two SELECT a FROM one;\n\nDROP TABLE one;\n',
    'INSERT INTO two VALUES (8)',
  ];
  await migrate(database, steps.slice(0, 1));
  await migrate(database, steps);
  await migrate(database, steps);
  assert.deepEqual(await rows(database, 'SELECT a FROM two'), [{ a: 7 }, { a: 8 }]);
  assert.deepEqual(
    (await rows(database, VERSIONS)).map(({ version }) => version),
    [1, 2, 3],
  );
  assert.equal(transactions.length, 3);
});

test('migrations: an upgrade is told before its first step, a creation is not', async (t) => {
  const { database, transactions } = overhear(await openEmpty(t));
  const steps = ['one', 'two', 'three', 'four'].map((name) => `CREATE TABLE ${name} (a TEXT)`);
  const told: number[][] = [];
  const tell = (...versions: number[]) => told.push([...versions, transactions.length]);
  for (const count of [2, 2, 4, 4]) await migrate(database, steps.slice(0, count), tell);
  assert.deepEqual(told, [[2, 4, 2]]);
});

test('migrations: a step without empty lines between its statements is refused', async (t) => {
  const database = await openEmpty(t);
  const create = 'CREATE TABLE one (a TEXT)';
  const trigger = 'CREATE TRIGGER two AFTER INSERT ON one BEGIN DELETE FROM one;\n END';
  for (const parts of [
    [create, create],
    [create, trigger],
    [trigger, create],
    [trigger, trigger],
    [`INSERT INTO one VALUES ('--')`, create],
  ])
    for (const separator of [';\n', '; ', ';', '; -- Next:\n', ';\r\n\r\n'])
      await assert.rejects(
        migrate(database, [parts.join(separator)]),
        /an empty line must separate statements/,
      );
  assert.deepEqual(await rows(database, TABLES), []);
  await migrate(database, [[create, `-- Deletes; all.\n${trigger}`].join(';\n\n')]);
  assert.deepEqual(await rows(database, VERSIONS), [{ version: 1 }]);
});

test('migrations: each step keeps the records that are stored before it', async (t) => {
  const database = await openEmpty(t);
  const created = new Set<string>();
  for (let version = 1; version <= SCHEMA_VERSION; version += 1) {
    await migrate(database, STEPS.slice(0, version));
    for (const { table } of RELATIONS) {
      const ofTable = `SELECT name, type FROM pragma_table_info('${table}')`;
      const columns = await rows(database, `${ofTable} WHERE "notnull" AND dflt_value IS NULL`);
      if (columns.length === 0 || created.has(table)) continue;
      created.add(table);
      const values = columns.map(({ type }) => (type === 'TEXT' ? `'[]'` : 1));
      const names = columns.map(({ name }) => name);
      await change(database, `INSERT INTO ${table} (${names}) VALUES (${values})`);
    }
  }
  for (const { table } of RELATIONS)
    assert.equal((await rows(database, `SELECT 1 FROM ${table}`)).length, 1, table);
});

test('migrations: a failed step has no effect and can be repeated', async (t) => {
  const database = await openEmpty(t);
  const first = 'CREATE TABLE one (a INTEGER) STRICT';
  const second = 'CREATE TABLE two (a INTEGER) STRICT';
  await assert.rejects(
    migrate(database, [first, `${second};\n\nINSERT INTO nowhere VALUES (1)`]),
    /no such table: nowhere/,
  );
  const tables = await rows(database, TABLES);
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['notes_server_schema', 'one'],
  );
  assert.deepEqual(await rows(database, VERSIONS), [{ version: 1 }]);

  await migrate(database, [first, second]);
  assert.deepEqual(await rows(database, VERSIONS), [{ version: 1 }, { version: 2 }]);
});

test('migrations: who comes second to a step goes on', async (t) => {
  const database = await openEmpty(t, newFile(t));
  const steps = [...STEPS, 'CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT'];
  const late = {
    ...database,
    // Another one takes all steps between the look and the first step of this one.
    async read(statement: Statement) {
      const found = await database.read(statement);
      await migrate(database, steps);
      return found;
    },
  };
  await migrate(late, steps);
  const last = { version: SCHEMA_VERSION + 1 };
  assert.deepEqual(await rows(database, VERSIONS), [...CURRENT, last]);
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

test('migrations: a SQLite file without tables is used', async (t) => {
  const path = newFile(t);
  // The internal table that SQLite leaves here does not count.
  await writeForeignFile(
    path,
    'CREATE TABLE passing (a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE passing',
  );
  assert.deepEqual(await rows(await openDatabase(t, path), VERSIONS), CURRENT);
});
