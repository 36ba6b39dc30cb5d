// The tests of copies that hold for any engine, and the data that is copied.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyDatabase } from '../../src/commands/copy.ts';
import { noteTags } from '../../src/resources/note-tags.ts';
import { columnsOf } from '../../src/resources/resource.ts';
import { RELATIONS, RESOURCES } from '../../src/resources/resources.ts';
import { LAST_NUMBER } from '../../src/storage/changes/numbers.ts';
import type { Database } from '../../src/storage/database.ts';
import { unfinishedIn } from '../../src/storage/schema/unfinished.ts';
import { change, NO_RECORDS, openDatabase, rows, withNumbers } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';

const TEXTS = [`x'41'`, 'a\u0000b', '😀 \u{10ffff}', `'"\\`, '\u2028\n\t', '<&>'];

/** The numbers of records that {@link fill} leaves. */
export const countsOf = (count: number) => ({
  ...NO_RECORDS,
  notes: count + 2,
  tags: 3,
  comments: count / 2,
  note_tags: 2,
});

/**
 * Stores `count` notes (a multiple of 500) on every other id, one of 500 of them large, with
 * comments on half of them, and leaves ids that belonged to deleted records.
 */
export async function fill(database: Database, count: number): Promise<void> {
  await database.transact('fill', [
    {
      sql: `${withNumbers(2 * count)} INSERT INTO notes (id, title, body, number, created_at)
            SELECT n, 'title ' || n, iif(n % 1000 = 0, printf('%.*c', 700000, 'x'), 'b'), n, 7 * n
            FROM numbers`,
    },
    { sql: 'DELETE FROM notes WHERE id % 2 = 1' },
    {
      sql: `INSERT INTO comments (note_id, body, number)
            SELECT id, 'on ' || id, ${LAST_NUMBER} + id FROM notes WHERE id % 4 = 0`,
    },
    {
      sql: `INSERT INTO notes (title, body, number) VALUES (?1, ?1, ${LAST_NUMBER} + 1)`,
      parameter: TEXTS.join(),
    },
    {
      sql: `INSERT INTO notes (title, body, number)
            VALUES ('a', 'b', ${LAST_NUMBER} + 1), ('last', 'gone', ${LAST_NUMBER} + 2)`,
    },
    {
      sql: `INSERT INTO tags (name, number)
            SELECT value, ${LAST_NUMBER} + key + 1 FROM json_each('["a", "b", "c", "d"]')`,
    },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) VALUES (2, 1), (2, 3), (2, 4)' },
    { sql: `DELETE FROM notes WHERE title = 'last'` },
    { sql: 'DELETE FROM tags WHERE id = 4' },
  ]);
}

/** Returns all that is stored; of large texts only their sizes. */
export async function contentOf(database: Database): Promise<unknown> {
  const content: unknown[] = [];
  for (const resource of RESOURCES) {
    const { table, blocks } = resource;
    const size = columnsOf(resource)
      .map((column) => `octet_length(${column})`)
      .join(' + ');
    content.push(await rows(database, `SELECT * FROM ${table} WHERE id % 1000 <> 0 ORDER BY id`));
    content.push(
      await rows(
        database,
        `SELECT id, ${size} AS size FROM ${table} WHERE id % 1000 = 0 ORDER BY id`,
      ),
    );
    content.push(await rows(database, `SELECT * FROM ${blocks} ORDER BY 1, 2`));
  }
  for (const name of [noteTags.table, noteTags.blocks])
    content.push(await rows(database, `SELECT * FROM ${name} ORDER BY 1, 2`));
  content.push(await rows(database, 'SELECT name, seq FROM sqlite_sequence ORDER BY name'));
  return JSON.parse(JSON.stringify(content));
}

export const quietly = () => {};

/** Registers the tests of copies to and from `engine`, with `count` notes. */
export function testCopies(engine: Engine, count: number): void {
  test(`copy: records and last ids arrive, and can be copied back (${engine.name})`, async (t) => {
    const source = await openDatabase(t);
    await fill(source, count);
    const target = await engine.open(t);
    const reported: [string, number, number][] = [];
    const counts = await copyDatabase(source, target, RELATIONS, (...progress) =>
      reported.push(progress),
    );
    assert.deepEqual(counts, countsOf(count));
    const content = await contentOf(source);
    assert.deepEqual(await contentOf(target), content);
    assert.equal(await unfinishedIn(target), undefined);
    assert.deepEqual(reported.at(-1), ['check', 1.5 * count + 7, 1.5 * count + 7]);
    assert.ok(reported.filter(([phase]) => phase === 'copy').length > 3);
    await change(
      target,
      `INSERT INTO notes (title, body, number) VALUES ('next', 'b', ${LAST_NUMBER} + 1)`,
    );
    const [next] = await rows(target, `SELECT id FROM notes WHERE title = 'next'`);
    assert.equal(next?.id, 2 * count + 4);
    await change(target, `DELETE FROM notes WHERE title = 'next'`);

    const back = await openDatabase(t);
    await copyDatabase(target, back, RELATIONS, quietly);
    assert.deepEqual(await contentOf(back), await contentOf(target));
  });

  test(`copy: an interrupted one is finished by the next (${engine.name})`, async (t) => {
    const source = await openDatabase(t);
    await fill(source, count);
    const target = await engine.open(t);
    for (let run = 0; run < 4; run += 1) {
      let pages = 0;
      const breaking: Database = {
        ...target,
        transact(id, statements) {
          pages += 1;
          return pages === 2
            ? Promise.reject(new Error('broken'))
            : target.transact(id, statements);
        },
      };
      await assert.rejects(copyDatabase(source, breaking, RELATIONS, quietly), /broken/);
      assert.equal(await unfinishedIn(target), 'copy');
    }
    // The next copy carries over what has changed in the source, and removes what only the target
    // has.
    await change(source, `UPDATE notes SET body = 'changed' WHERE id = 2`);
    await change(source, `DELETE FROM notes WHERE id IN (4, ${2 * count + 1})`);
    await change(target, `INSERT INTO tags (id, name) VALUES (77, 'a stranger')`);
    await copyDatabase(source, target, RELATIONS, quietly);
    assert.deepEqual(await contentOf(target), await contentOf(source));
    assert.equal(await unfinishedIn(target), undefined);
  });
}
