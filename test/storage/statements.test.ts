// What `npm run sql` prints can be pasted: SQLite prepares each statement of the service as it is
// laid out, also the queries for the rows that a cluster stores.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase, rows } from '../support/databases.ts';
import { layOut } from '../support/sql-layout.ts';
import { collectStatements } from '../support/statements.ts';

test('statements: SQLite prepares each one as it is printed', async (t) => {
  const database = await openDatabase(t);
  const statements = await collectStatements(t);
  for (const { name, statement } of statements) {
    for (const sql of [statement.sql, ...(statement.rows ? [`SELECT ${statement.rows}`] : [])]) {
      const printed = layOut(sql);
      assert.equal(printed.replace(/\s+/g, ''), sql.replace(/\s+/g, ''), name);
      await rows(database, `EXPLAIN ${printed}`);
    }
  }
  assert.ok(statements.length > 100, String(statements.length));
});
