// The tests of the migration of a database of version 1, for any engine: its records get their
// numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../src/storage/database.ts';
import { migrate, SCHEMA_VERSION } from '../../src/storage/schema/migrations.ts';
import { STEPS } from '../../src/storage/schema/steps.ts';
import { overhear, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { tablesOf } from '../support/tables.ts';

/** Makes an empty database one of version 1, with three notes, two tags and four comments. */
export async function fillFirstVersion(database: Database): Promise<void> {
  await migrate(database, STEPS.slice(0, 1));
  const statements = [
    `INSERT INTO notes (id, title, body)
     VALUES (7, 'c', 'd'), (2, 'a', 'b'), (9, 'e', 'f'), (10, '', '')`,
    `INSERT INTO tags (id, name) VALUES (3, 'u'), (1, 't')`,
    `INSERT INTO comments (note_id, body) VALUES (9, 'a'), (2, 'b'), (9, 'c'), (10, ''), (7, 'd')`,
    'DELETE FROM notes WHERE id = 10',
  ];
  await database.transact(
    'fill',
    statements.map((sql) => ({ sql })),
  );
}

/** Asserts that the database of {@link fillFirstVersion} has been migrated, once. */
export async function assertMigrated(database: Database): Promise<void> {
  const found = await rows(
    database,
    `SELECT number, type, id, created_at IS NULL AND updated_at IS NULL AS is_timeless FROM
       (SELECT *, 'note' AS type FROM (SELECT number, id, created_at, updated_at FROM notes)
        UNION ALL SELECT *, 'tag' FROM (SELECT number, id, created_at, updated_at FROM tags)
        UNION ALL
        SELECT *, 'comment' FROM (SELECT number, id, created_at, updated_at FROM comments))
     ORDER BY number`,
  );
  assert.deepEqual(
    found.map(({ number, type, id, is_timeless }) => `${number} ${type} ${id} ${is_timeless}`),
    [
      ...['1 note 2 1', '2 note 7 1', '3 note 9 1', '4 tag 1 1', '5 tag 3 1'],
      ...['6 comment 1 1', '7 comment 2 1', '8 comment 3 1', '9 comment 5 1'],
    ],
  );
  assert.deepEqual(await rows(database, 'SELECT * FROM note_words_position'), [
    { number: 0, id: null },
  ]);
  assert.deepEqual(await rows(database, 'SELECT * FROM changes'), []);
  const generations = await rows(database, 'SELECT generation FROM notes_server_generation');
  assert.equal(generations.length, 1);
  assert.match(String(generations[0]?.generation), /^[0-9a-f]{8}$/);
  assert.deepEqual(await rows(database, 'SELECT version FROM notes_server_versions'), [
    { version: 1 },
    { version: 2 },
    { version: 3 },
  ]);
}

/** Registers the tests of databases of version 1 on `engine`. */
export function testFirstVersion(engine: Engine): void {
  test('migrations: records of version 1 get numbers', async (t) => {
    const empty = await engine.openEmpty(t);
    await fillFirstVersion(empty);
    const { database, transactions } = overhear(empty);
    await migrate(database);
    assert.equal(transactions.length, SCHEMA_VERSION - 1);
    await assertMigrated(database);

    const { notes, comments } = tablesOf(database);
    const [created, comment] = await Promise.all([
      notes.create([['g', 'h']]),
      comments.create([['e']], 2),
    ]);
    assert.deepEqual([created?.id, comment?.id], [11, 6]);
    assert.deepEqual(
      [created?.tag, comment?.tag].map((tag) => tag?.split('-')[1]),
      ['10', '11'],
    );
    const updated = await notes.patch(2, ['A', null]);
    assert.equal(updated?.text, '{"id":2,"title":"A","body":"b"}');
    assert.equal(updated?.tag.split('-')[1], '12');
  });
}
