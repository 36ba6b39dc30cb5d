// The search index after the commands: the next search finds exactly the words of the notes.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../src/commands/check.ts';
import { placeSql, SEARCHABLE } from '../../src/search/steps.ts';
import type { Database } from '../../src/storage/database.ts';
import {
  change,
  newFile,
  openDatabase,
  openEmpty,
  openPath,
  rows,
  withNumbers,
} from '../support/databases.ts';
import { runInProcess } from '../support/in-process-command.ts';
import { assertIndexed, bringUpToDate } from '../support/search-index.ts';

/** Returns a database with changes, some of them in the index and some not. */
async function openFilled(t: TestContext): Promise<{ path: string; database: Database }> {
  const path = newFile(t);
  const database = await openDatabase(t, path);
  await change(
    database,
    `${withNumbers(300)} INSERT INTO notes (title, body)
     SELECT 'Note ' || n, 'body' FROM numbers`,
  );
  await bringUpToDate(database);
  await change(database, `UPDATE notes SET body = 'changed' WHERE id < 5`);
  await change(database, 'DELETE FROM notes WHERE id > 295');
  return { path, database };
}

/** Asserts that the index of the file is right after the next search, and sound before. */
async function assertRight(t: TestContext, path: string): Promise<void> {
  assert.deepEqual(await checkFile(path), []);
  const database = await openPath(path);
  t.after(() => database.close());
  await bringUpToDate(database);
  await assertIndexed(database);
  await change(database, `INSERT INTO notes (title, body) VALUES ('later', 'note')`);
  await bringUpToDate(database);
  await assertIndexed(database);
  assert.deepEqual(await checkFile(path), []);
}

/** Asserts that the next search need not wait until all notes are indexed again. */
async function assertContinues(t: TestContext, path: string): Promise<void> {
  const database = await openEmpty(t, path);
  for (const resource of SEARCHABLE) {
    const sql = `WITH ${placeSql(resource)} SELECT reaches FROM place`;
    assert.deepEqual(await rows(database, sql), [{ reaches: 1 }]);
  }
}

for (const isIndexed of [true, false]) {
  const state = isIndexed ? 'up to date' : 'behind';

  test(`search index: restored from a backup that is ${state}`, async (t) => {
    const { path, database } = await openFilled(t);
    const [saved, restored] = [newFile(t), newFile(t)];
    if (isIndexed) await bringUpToDate(database);
    await runInProcess(['backup', saved, '--db', path]);
    await runInProcess(['restore', saved, '--db', restored]);
    await assertContinues(t, restored);
    await assertRight(t, restored);
    // The backup itself is a database as well.
    await assertRight(t, saved);
    // The state of the backup takes the place of later ones.
    await change(database, `UPDATE notes SET body = 'lost' WHERE id < 9`);
    await bringUpToDate(database);
    await database.close();
    await runInProcess(['backup', newFile(t), '--db', path]);
    await runInProcess(['restore', restored, '--db', path, '--force']);
    await assertRight(t, path);
  });
}

test('search index: after VACUUM and PRAGMA optimize by another program', async (t) => {
  const { path, database } = await openFilled(t);
  await change(database, 'VACUUM');
  await change(database, 'PRAGMA optimize');
  await database.close();
  await assertRight(t, path);
});

for (const number of [-1, 1_000_000]) {
  test(`search index: built again because its position is ${number}`, async (t) => {
    const { path, database } = await openFilled(t);
    await bringUpToDate(database);
    await change(database, 'DELETE FROM note_words WHERE rowid = 7');
    await change(database, `UPDATE note_words_position SET number = ${number}`);
    await database.close();
    await assertRight(t, path);
  });
}
