// Copies between engines: everything arrives as it was, what broke off is finished, and nothing else is touched.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comments } from '../../src/collections/comments.ts';
import { notes } from '../../src/collections/notes.ts';
import { tags } from '../../src/collections/tags.ts';
import { copyDatabase } from '../../src/storage/copy.ts';
import type { Database } from '../../src/storage/database.ts';
import { type Source, unfinishedIn } from '../../src/storage/unfinished.ts';
import { change, openDatabase, rows } from '../support/databases.ts';
import { ENGINES } from '../support/engines.ts';

const TABLES = [notes, tags, comments].map(({ shape }) => shape);
const COUNTS = [
  { name: 'notes', count: 5_002 },
  { name: 'tags', count: 3 },
  { name: 'comments', count: 2_500 },
];
const TEXTS = [`x'41'`, 'a\u0000b', '😀 \u{10ffff}', `'"\\`, '\u2028\n\t', '<&>'];

/** Five thousand notes with gaps, some of them large, comments, and ids that were given and are free again. */
async function fill(database: Database): Promise<void> {
  await database.transact('fill', [
    {
      sql: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
            INSERT INTO notes (id, title, body) SELECT i, 'title ' || i, iif(i % 1000 = 0, printf('%.*c', 700000, 'x'), 'b') FROM n`,
    },
    { sql: 'DELETE FROM notes WHERE id % 2 = 1' },
    { sql: `INSERT INTO comments (note_id, body) SELECT id, 'on ' || id FROM notes WHERE id % 4 = 0` },
    { sql: `INSERT INTO notes (title, body) VALUES (?1, ?1)`, parameter: TEXTS.join() },
    { sql: `INSERT INTO notes (title, body) VALUES ('a', 'b'), ('last', 'gone')` },
    { sql: `INSERT INTO tags (name) VALUES ('a'), ('b'), ('c'), ('d')` },
    { sql: `DELETE FROM notes WHERE title = 'last'` },
    { sql: 'DELETE FROM tags WHERE id = 4' },
  ]);
}

/** All that is stored, as text. */
async function contentOf(database: Database): Promise<unknown> {
  const content: unknown[] = [];
  for (const { name, blocks, columns } of TABLES) {
    const size = columns.map((column) => `octet_length(${column})`).join(' + ');
    content.push(await rows(database, `SELECT * FROM ${name} WHERE id % 1000 <> 0 ORDER BY id`));
    content.push(await rows(database, `SELECT id, ${size} AS size FROM ${name} WHERE id % 1000 = 0 ORDER BY id`));
    content.push(await rows(database, `SELECT * FROM ${blocks} ORDER BY 1, 2`));
  }
  content.push(await rows(database, 'SELECT name, seq FROM sqlite_sequence ORDER BY name'));
  return JSON.parse(JSON.stringify(content));
}

const quietly = () => {};

for (const engine of ENGINES) {
  test(`${engine.name}: all that is stored arrives, with the last ids, and goes back again`, async (t) => {
    const source = await openDatabase(t);
    await fill(source);
    const target = await engine.open(t);
    const told: [string, number, number][] = [];
    const counts = await copyDatabase(source, target, TABLES, (...progress) => told.push(progress));
    assert.deepEqual(counts, COUNTS);
    const content = await contentOf(source);
    assert.deepEqual(await contentOf(target), content);
    assert.equal(await unfinishedIn(target), undefined);
    assert.deepEqual(told.at(-1), ['check', 7_505, 7_505]);
    assert.ok(told.filter(([phase]) => phase === 'copy').length > 8);
    const [id] = await change(target, `INSERT INTO notes (title, body) VALUES ('next', 'b') RETURNING id`).then(() =>
      rows(target, `SELECT id FROM notes WHERE title = 'next'`),
    );
    assert.equal(id?.id, 10_004);
    await change(target, 'DELETE FROM notes WHERE id = 10004');

    const back = await openDatabase(t);
    await copyDatabase(target, back, TABLES, quietly);
    assert.deepEqual(await contentOf(back), await contentOf(target));
  });

  test(`${engine.name}: a copy that broke off at any page is finished by the next one`, async (t) => {
    const source = await openDatabase(t);
    await fill(source);
    const target = await engine.open(t);
    for (let run = 0; run < 8; run += 1) {
      let pages = 0;
      const breaking: Database = {
        ...target,
        transact(id, statements) {
          pages += 1;
          return pages === 2 ? Promise.reject(new Error('broken')) : target.transact(id, statements);
        },
      };
      await assert.rejects(copyDatabase(source, breaking, TABLES, quietly), /broken/);
      assert.equal(await unfinishedIn(target), 'copy');
    }
    // What was changed in the source since is changed in the target, and what is not there any more goes.
    await change(source, `UPDATE notes SET body = 'changed' WHERE id = 2`);
    await change(source, 'DELETE FROM notes WHERE id IN (4, 10001)');
    await change(target, `INSERT INTO tags (id, name) VALUES (77, 'a stranger')`);
    await copyDatabase(source, target, TABLES, quietly);
    assert.deepEqual(await contentOf(target), await contentOf(source));
    assert.equal(await unfinishedIn(target), undefined);
  });
}

test('asked again after all is done, it compares and writes nothing', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source);
  await copyDatabase(source, target, TABLES, quietly);
  const deaf: Database = { ...target, transact: () => assert.fail() };
  assert.deepEqual(await copyDatabase(source, deaf, TABLES, quietly), COUNTS);
});

for (const [what, difference] of Object.entries({
  'another text': `UPDATE tags SET name = 'other' WHERE id = 1`,
  'one record more': `INSERT INTO tags (name) VALUES ('more')`,
  'one record less': 'DELETE FROM comments WHERE id = 7',
  'given one id more': `UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'notes'`,
})) {
  test(`a target that has ${what} is refused and stays as it is`, async (t) => {
    const [source, target] = [await openDatabase(t), await openDatabase(t)];
    await fill(source);
    await copyDatabase(source, target, TABLES, quietly);
    await change(target, difference);
    const content = await contentOf(target);
    await assert.rejects(copyDatabase(source, target, TABLES, quietly), /it holds other records already/);
    assert.deepEqual(await contentOf(target), content);
  });
}

test('a target whose records were all deleted is no empty one: their ids would be given again', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await change(source, `INSERT INTO notes (title, body) VALUES ('a', 'b')`);
  await change(target, `INSERT INTO notes (title, body) VALUES ('a', 'b'), ('c', 'd')`);
  await change(target, 'DELETE FROM notes');
  await assert.rejects(copyDatabase(source, target, TABLES, quietly), /it holds other records already/);
});

test('who writes while it is copied is found out by the comparison, and the copy is not finished', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await fill(source);
  let changed: Promise<unknown> | undefined;
  const onProgress = (phase: string, done: number, total: number) => {
    if (phase === 'copy' && done === total) changed ??= change(target, `UPDATE notes SET body = 'y' WHERE id = 2000`);
  };
  // What comes after the copy waits for the change.
  const waiting: Source = { read: (statement) => Promise.resolve(changed).then(() => source.read(statement)) };
  await assert.rejects(copyDatabase(waiting, target, TABLES, onProgress), /somebody wrote to one of the two/);
  assert.equal(await unfinishedIn(target), 'copy');
  await copyDatabase(source, target, TABLES, quietly);
  assert.deepEqual(await contentOf(target), await contentOf(source));
});

test('ids that were only asked for, and counts that are wrong, do not matter; ids beyond all are told', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  await change(target, `INSERT INTO sqlite_sequence (name, seq) VALUES ('comments', 0)`);
  await change(source, `INSERT INTO notes (title, body) VALUES ('a', 'b')`);
  await change(source, 'UPDATE note_blocks SET count = 500');
  assert.equal((await copyDatabase(source, target, TABLES, quietly))[0]?.count, 1);
  await change(source, `INSERT INTO notes (id, title, body) VALUES (9007199254740993, 'a', 'b')`);
  await assert.rejects(copyDatabase(source, await openDatabase(t), TABLES, quietly), /notes has an id beyond/);
});

test('nothing is copied as well as anything', async (t) => {
  const [source, target] = [await openDatabase(t), await openDatabase(t)];
  const told: unknown[] = [];
  const counts = await copyDatabase(source, target, TABLES, (...progress) => told.push(progress));
  assert.deepEqual(
    counts.map(({ count }) => count),
    [0, 0, 0],
  );
  assert.deepEqual(told.at(-1), ['check', 0, 0]);
});
