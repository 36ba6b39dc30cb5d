// The embedded engine on real files: the settings of its connections, the effects of failures, and
// what reads see.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sqlite3 from 'sqlite3';
import { GUARD } from '../../src/open.ts';
import {
  AnswerTooLarge,
  type Database,
  DatabaseUnavailable,
  ReadTooSlow,
  type Row,
} from '../../src/storage/database.ts';
import { openSqlite, SLOW_READ } from '../../src/storage/sqlite/engine.ts';
import {
  change,
  newFile,
  openDatabase,
  openOther,
  rows,
  withNumbers,
  writeMigrated,
} from '../support/databases.ts';
import { setLimits } from '../support/overload.ts';

const ADD = `
  INSERT INTO tags (name, number)
  SELECT 'a', seq + 1 FROM sqlite_sequence WHERE name = 'changes' RETURNING id`;
const COUNT = 'SELECT count(*) AS count FROM tags';

async function countOf(database: Database): Promise<unknown> {
  const [row] = await rows(database, COUNT);
  return row?.count;
}

/** Sends the query to both readers: while one is busy with it, the other takes the second. */
function bothReaders(database: Database, sql: string): Promise<(readonly Row[])[]> {
  return Promise.all([rows(database, sql), rows(database, sql)]);
}

for (const { pragma, writer, reader } of [
  { pragma: 'journal_mode', writer: 'wal', reader: 'wal' },
  { pragma: 'synchronous', writer: 2 },
  { pragma: 'foreign_keys', writer: 1 },
  { pragma: 'busy_timeout', writer: 5_000, reader: 5_000 },
  { pragma: 'cache_size', writer: -8_192, reader: -65_536 },
  { pragma: 'mmap_size', writer: 0, reader: 0 },
]) {
  test(`sqlite: ${pragma} is set on every connection that needs it`, async (t) => {
    const database = await openDatabase(t);
    const only = (found: readonly Row[]) => Object.values(found[0] ?? {})[0];
    assert.equal(only(await change(database, `PRAGMA ${pragma}`)), writer);
    if (reader === undefined) return;
    assert.deepEqual((await bothReaders(database, `PRAGMA ${pragma}`)).map(only), [reader, reader]);
  });
}

test('sqlite: the package has a version that loses no commit when the log is reset', async (t) => {
  const sql = 'SELECT sqlite_version() AS version';
  const [row] = await rows(await openDatabase(t), sql);
  const order = String(row?.version).localeCompare('3.51.3', 'en', { numeric: true });
  assert.ok(order >= 0, `SQLite ${row?.version} can lose one (see the release notes of 3.51.3)`);
});

test('sqlite: reads cannot write', async (t) => {
  const database = await openDatabase(t);
  for (const outcome of await Promise.allSettled([rows(database, ADD), rows(database, ADD)])) {
    assert.match(outcome.status === 'rejected' ? outcome.reason.message : '', /SQLITE_READONLY/);
  }
  assert.equal(await countOf(database), 0);
});

test('sqlite: a short read does not wait for a long one', async (t) => {
  const database = await openDatabase(t);
  const endings: string[] = [];
  const read = async (name: string, sql: string) => {
    await rows(database, sql);
    endings.push(name);
  };
  const long = read('long', `${withNumbers(1_000_000)} SELECT count(*) FROM numbers`);
  await read('short', COUNT);
  await read('next', COUNT);
  await long;
  assert.deepEqual(endings, ['short', 'next', 'long']);
});

test('sqlite: slow reads have their own connection, and delay no others and no ping', async (t) => {
  const database = await openDatabase(t);
  const endings: string[] = [];
  const sql = `${withNumbers(300_000)} SELECT count(*) FROM numbers`;
  const slow = [1, 2, 3].map(async () => {
    await database.read({ sql, isSlow: true });
    endings.push('slow');
  });
  await Promise.all([bothReaders(database, COUNT), database.ping()]);
  endings.push('quick');
  await Promise.all(slow);
  assert.deepEqual(endings, ['quick', 'slow', 'slow', 'slow']);
  await assert.rejects(database.read({ sql: ADD, isSlow: true }), /SQLITE_READONLY/);
});

const ENDLESS = `
  WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers)
  SELECT count(*) FROM numbers`;

for (const file of [':memory:', undefined]) {
  test(`sqlite: slow reads end after a time (${file ?? 'a file'})`, async (t) => {
    setLimits(t, SLOW_READ, { maxMs: 20 });
    const database = await openSqlite(file ?? newFile(t));
    t.after(() => database.close());
    await assert.rejects(database.read({ sql: ENDLESS, isSlow: true }), ReadTooSlow);
    const [row] = await database.read({ sql: 'SELECT 1 AS one', isSlow: true });
    assert.equal(row?.one, 1);
  });
}

test('sqlite: a connection keeps the latest prepared statements', async (t) => {
  const connection = await openOther(t, newFile(t));
  const finalized = t.mock.method(sqlite3.Statement.prototype, 'finalize');
  for (let number = 0; number < 500; number += 1) {
    const sql = `SELECT ${number} AS number`;
    const [row] = await connection.exclusively(() => connection.run({ sql }));
    assert.equal(row?.number, number);
  }
  assert.equal(finalized.mock.callCount(), 500 - 100);
  await connection.close();
  assert.equal(finalized.mock.callCount(), 500);
});

/** Failures in the middle of a transaction. `unavailable`: another try may succeed. */
const FAILURES = [
  { name: 'a constraint', sql: 'INSERT INTO tags (id, name) VALUES (1, NULL)', unavailable: false },
  {
    name: 'a full disk',
    // No more pages than now.
    prepare: 'PRAGMA max_page_count = 1',
    sql: 'INSERT INTO tags (name) VALUES (hex(zeroblob(100000)))',
    unavailable: true,
    mend: 'PRAGMA max_page_count = 1000000',
  },
];

for (const path of [undefined, ':memory:']) {
  const where = path ?? 'a file';
  for (const { name, prepare, sql, unavailable, mend } of FAILURES) {
    for (const statements of [[ADD, sql, ADD], [sql]]) {
      test(`sqlite: ${name} undoes the transaction (${statements.length}, ${where})`, async (t) => {
        const database = await openDatabase(t, path);
        await change(database, ADD);
        if (prepare) await change(database, prepare);
        const failing = database.transact(statements.map((each) => ({ sql: each })));
        await assert.rejects(
          failing,
          (error) => error instanceof DatabaseUnavailable === unavailable,
        );
        assert.equal(await countOf(database), 1);

        if (mend) await change(database, mend);
        assert.deepEqual(await change(database, ADD), [{ id: 2 }]);
        const later = await database.transact([{ sql: ADD }, { sql: ADD }]);
        assert.deepEqual(later, [[{ id: 3 }], [{ id: 4 }]]);
      });
    }
  }

  test(`sqlite: a read sees all of a transaction or nothing (${where})`, async (t) => {
    const database = await openDatabase(t, path);
    const seen: unknown[] = [];
    for (let round = 1; round <= 30; round += 1) {
      const reading = Promise.all([1, 2, 3].map(() => countOf(database)));
      await database.transact([{ sql: ADD }, { sql: ADD }, { sql: ADD }]);
      seen.push(...(await reading), await countOf(database));
    }
    assert.equal(seen.at(-1), 90);
    assert.deepEqual(
      seen.filter((count) => Number(count) % 3 !== 0),
      [],
    );
  });

  test(`sqlite: concurrent transactions take turns (${where})`, async (t) => {
    const database = await openDatabase(t, path);
    const pairs = Array.from({ length: 20 }, () => database.transact([{ sql: ADD }, { sql: ADD }]));
    const ids = (await Promise.all(pairs)).flat(2).map(({ id }) => id);
    assert.deepEqual(
      ids,
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
  });

  test(`sqlite: closing waits for running work (${where})`, async (t) => {
    const database = await openDatabase(t, path);
    const work = [
      ...Array.from({ length: 20 }, () => change(database, ADD)),
      ...Array.from({ length: 20 }, () => countOf(database)),
      database.transact([{ sql: ADD }, { sql: ADD }]),
      database.ping(),
    ];
    await database.close();
    const outcomes = await Promise.allSettled(work);
    assert.deepEqual(
      outcomes.filter(({ status }) => status === 'rejected'),
      [],
    );
  });
}

/** Opens a database whose writer does not wait for locks, and another program on its file. */
async function openContended(test: TestContext) {
  const path = newFile(test);
  const database = await openDatabase(test, path);
  await change(database, 'PRAGMA busy_timeout = 0');
  return { database, other: await openOther(test, path) };
}

test('sqlite: a lock makes writes unavailable while reads go on', async (t) => {
  const { database, other } = await openContended(t);
  const rename = "UPDATE tags SET name = 'b' RETURNING id";
  for (const writes of [[ADD], [ADD, rename], [rename]]) {
    const statements = writes.map((sql) => ({ sql }));
    await other.execute('BEGIN EXCLUSIVE');
    await assert.rejects(database.transact(statements), DatabaseUnavailable);
    await database.ping();
    const before = await countOf(database);
    await other.execute('ROLLBACK');

    // Another statement commits before a refused one runs again.
    await database.transact([{ sql: rename }, { sql: 'DELETE FROM notes' }]);
    assert.equal(await countOf(database), before);
    await database.transact(statements);
  }
});

test('sqlite: a statement that failed to prepare is prepared again', async (t) => {
  const { database, other } = await openContended(t);
  const read = 'SELECT a FROM later';
  await assert.rejects(rows(database, read), /no such table/);
  await other.execute('CREATE TABLE later (a); INSERT INTO later VALUES (7)');
  assert.deepEqual(await bothReaders(database, read), [[{ a: 7 }], [{ a: 7 }]]);
});

test('sqlite: a read with a limit rejects a longer value', async (t) => {
  const database = await openDatabase(t, newFile(t));
  const read = (count: number, maxBytes?: number) =>
    database.read({
      sql: 'SELECT group_concat(value, ?1) AS text FROM json_each(?1)',
      parameter: JSON.stringify(Array.from({ length: count }, () => 'aaaa')),
      maxBytes,
    });
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      await assert.rejects(read(100, 10_000), AnswerTooLarge);
      assert.equal((await read(10, 10_000)).length, 1);
      assert.equal((await read(100)).length, 1);
    }),
  );
});

test('sqlite: large rows arrive in order, and those of a failed read not at all', async (t) => {
  setLimits(t, SLOW_READ, { maxMs: 50 });
  const database = await openSqlite(newFile(t));
  t.after(() => database.close());
  const numbers = `${withNumbers(100)} SELECT n FROM numbers`;
  const read = (sql: string, maxBytes?: number) =>
    database.read({ sql, isSlow: true, hasLargeRows: true, maxBytes });
  const found = await read(numbers);
  assert.deepEqual(
    found.map(({ n }) => n),
    Array.from({ length: 100 }, (_, index) => index + 1),
  );
  await assert.rejects(read(`${numbers} UNION ALL SELECT * FROM (${ENDLESS})`), ReadTooSlow);
  await assert.rejects(read(`${numbers} UNION ALL SELECT abs(-9223372036854775808)`), /overflow/);
  // It ends at the row that is too much.
  setLimits(t, SLOW_READ, { maxMs: 600_000 });
  const large = numbers.replace('SELECT n FROM', "SELECT printf('%.*c', 1000, 'x') AS items FROM");
  assert.equal((await read(large, 100_000)).length, 100);
  const endless = `${large} UNION ALL SELECT * FROM (${ENDLESS})`;
  await assert.rejects(read(endless, 99_999), AnswerTooLarge);
  assert.equal((await read(numbers)).length, 100);
});

test('sqlite: after a transaction, its revision is known', async (t) => {
  const path = newFile(t);
  await writeMigrated(path);
  const database = await openSqlite(path, { guard: GUARD });
  t.after(() => database.close());
  const other = await openOther(t, path);
  const { freshness } = database;
  assert.ok(freshness);
  for (let round = 0; round < 3; round += 1) {
    await other.execute("INSERT INTO tags (name) VALUES ('b')");
    await change(database, ADD);
    assert.equal(freshness.committed(), freshness.revision());
  }
});

test('sqlite: in memory, the revision stays until the end of a transaction', async (t) => {
  const { freshness, ...database } = await openDatabase(t, ':memory:');
  assert.ok(freshness);
  const before = freshness.revision();
  const changed = change(database, `${withNumbers(300_000)} SELECT count(*) FROM numbers`);
  await nextTurn();
  assert.equal(freshness.revision(), before);
  await changed;
  assert.ok(freshness.isNext(before ?? '', freshness.revision() ?? ''));
});
