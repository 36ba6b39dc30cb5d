// The check of a database file finds every fault of the search index, and none in what the service
// has yet to index.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { type Database, DatabaseUnavailable } from '../../src/storage/database.ts';
import {
  change,
  newFile,
  openDatabase,
  withNumbers,
  writeForeignFile,
} from '../support/databases.ts';
import { bringUpToDate, setIndexTimes } from '../support/search-index.ts';

/** A closed database with 600 notes in its index, to copy. */
const filled = newFile({ after });

before(async () => {
  setIndexTimes({ after }, { maxWaitMs: 60_000 });
  const database = await openDatabase({ after }, filled);
  await change(
    database,
    `${withNumbers(600)} INSERT INTO notes (title, body)
     SELECT 'Note ' || n, '東京都 milk ' || replace(hex(zeroblob(n)), '00', ' word') FROM numbers`,
  );
  // More than 24 bits.
  const far = `INSERT INTO notes (id, title, body) VALUES (5000000000000000, 'far', 'away')`;
  await change(database, far);
  await change(database, 'DELETE FROM notes WHERE id = 599');
  await bringUpToDate(database);
  await database.close();
});

async function checkAfter(t: TestContext, sql: string): Promise<string[]> {
  const path = newFile(t);
  copyFileSync(filled, path);
  await writeForeignFile(path, sql);
  return checkFile(path);
}

/** Faults that SQL can plant, and the line that reports them. */
const PLANTED: Record<string, readonly [sql: string, line: string]> = {
  'a record that is missing': [
    'DELETE FROM note_words WHERE rowid = 3',
    'note_words: record 3 is missing',
  ],
  'a record that does not exist': [
    `INSERT INTO note_words (rowid, title, body) VALUES (599, 'a', 'b')`,
    'note_words: contains record 599, which is not in notes',
  ],
  'a record with too few words': [
    `INSERT OR REPLACE INTO note_words (rowid, title, body) VALUES (300, 'note 300', 'word')`,
    'note_words: record 300 has other words than its texts',
  ],
  'a word that is another one': [
    `INSERT OR REPLACE INTO note_words (rowid, title, body)
       VALUES (2, 'note 2', '東京 京都 都 milk word wort')`,
    'note_words: record 2 has other words than its texts',
  ],
  'letters in another order': [
    `INSERT OR REPLACE INTO note_words (rowid, title, body)
       VALUES (2, 'note 2', '東京 京都 都 milk word wrod')`,
    'note_words: record 2 has other words than its texts',
  ],
  'words in another order': [
    `INSERT OR REPLACE INTO note_words (rowid, title, body)
       VALUES (2, '2 note', '東京 京都 都 milk word word')`,
    'note_words: record 2 has other words than its texts',
  ],
  'words of two records exchanged': [
    `INSERT OR REPLACE INTO note_words (rowid, title, body)
       VALUES (1, 'note 2', '東京 京都 都 milk word')`,
    'note_words: record 1 has other words than its texts',
  ],
  'a wrong number of words': [
    `UPDATE note_words_docsize SET sz = x'020C' WHERE id = 7`,
    'note_words: record 7 has other words than its texts',
  ],
  'an index that SQLite finds to be damaged': [
    'DELETE FROM note_words_data WHERE id > 1000',
    'fts5: corruption found reading blob 137438953473 from table "note_words"',
  ],
  'words that cannot be looked up': [
    'DELETE FROM note_words_idx',
    'note_words: searches cannot find all of its words',
  ],
  'words of one leaf that cannot be looked up': [
    'DELETE FROM note_words_idx WHERE pgno = (SELECT max(pgno) FROM note_words_idx)',
    'note_words: searches cannot find all of its words',
  ],
  'words that cannot be ranked': [
    'DELETE FROM note_words_data WHERE id = 1',
    'SQLITE_CORRUPT: database disk image is malformed',
  ],
  'a missing position': [
    'DELETE FROM note_words_position',
    'note_words_position: there is no position',
  ],
};

for (const [what, [sql, line]] of Object.entries(PLANTED)) {
  test(`check: finds ${what} in the search index`, async (t) => {
    assert.deepEqual(await checkAfter(t, sql), [line]);
  });
}

test('check: reports at most 25 faults of the search index', async (t) => {
  assert.equal((await checkAfter(t, 'DELETE FROM note_words WHERE rowid < 100')).length, 25);
});

test('check: names each of several records with other words', async (t) => {
  const swap = (id: number, title: string) => `
    INSERT OR REPLACE INTO note_words (rowid, title, body)
    VALUES (${id}, '${title}', '東京 京都 都 milk' || replace(hex(zeroblob(${id})), '00', ' word'))`;
  assert.deepEqual(
    await checkAfter(t, `${swap(10, 'note 20')}; ${swap(20, 'note 10')}; ${swap(30, '30 note')}`),
    [10, 20, 30].map((id) => `note_words: record ${id} has other words than its texts`),
  );
});

test('check: the service has yet to index changes, or all records', async (t) => {
  const changes = `
    UPDATE notes SET body = 'new' WHERE id IN (1, 2);
    DELETE FROM notes WHERE id = 3;
    INSERT INTO notes (title, body) VALUES ('c', 'd')`;
  assert.deepEqual(await checkAfter(t, ''), []);
  assert.deepEqual(await checkAfter(t, changes), []);
  assert.deepEqual(await checkAfter(t, `${changes}; DELETE FROM changes`), []);
});

test('check: an index of which a part has been built again', async (t) => {
  setIndexTimes(t, { maxWaitMs: 60_000 });
  const path = newFile(t);
  copyFileSync(filled, path);
  const database = await openDatabase(t, path);
  await change(database, `UPDATE notes SET body = 'new' WHERE id = 5`);
  await change(database, 'DELETE FROM changes');
  let steps = 0;
  const failing: Database = {
    ...database,
    transact(statements) {
      steps += 1;
      if (steps === 2) return Promise.reject(new DatabaseUnavailable('the end'));
      return database.transact(statements);
    },
  };
  await assert.rejects(bringUpToDate(failing), DatabaseUnavailable);
  await change(database, `UPDATE notes SET body = 'newer' WHERE id IN (5, 500)`);
  await change(database, 'DELETE FROM notes WHERE id IN (6, 501)');
  assert.deepEqual(await checkFile(path), []);
  await change(database, `DELETE FROM note_words WHERE rowid = 7`);
  assert.deepEqual(await checkFile(path), ['note_words: record 7 is missing']);
});
