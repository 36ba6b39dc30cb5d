// The commands that read a file of an older version, in which a later resource has no table yet.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checkFile } from '../../../src/commands/check.ts';
import { formatCounts } from '../../../src/commands/walk.ts';
import {
  change,
  NO_RECORDS,
  newFile,
  openDatabase,
  writeForeignFile,
} from '../../support/databases.ts';
import { filledFile, notesIn } from '../../support/filled.ts';
import { perform } from '../../support/perform.ts';

const { tags: _, ...OLDER } = NO_RECORDS;
const COUNTS = { ...OLDER, notes: 16, comments: 1 };

/** Returns a file with 16 notes, a comment and no tables for tags. */
async function olderFile(t: TestContext): Promise<string> {
  const path = await filledFile(t, 10);
  // No version is as old as this one.
  await writeForeignFile(
    path,
    `DROP TABLE tags;
     DROP TABLE tag_blocks;
     DELETE FROM notes_server_versions;
     INSERT INTO notes_server_versions VALUES (-1)`,
  );
  return path;
}

const copy = async (from: string, to: string) =>
  (await perform(['copy', '--from', from, '--to', to])).line;

test('older versions: check finds a fault, but not the missing tables', async (t) => {
  const file = await olderFile(t);
  assert.deepEqual(await checkFile(file), []);
  await writeForeignFile(file, 'UPDATE note_blocks SET count = 3');
  assert.deepEqual(await checkFile(file), [
    'note_blocks: block 0 counts 3 records, but there are 16',
  ]);
});

test('older versions: half of a resource is a fault', async (t) => {
  const file = await olderFile(t);
  await writeForeignFile(file, 'DROP TABLE comment_blocks');
  assert.match((await checkFile(file)).join(), /no such table: .*comment_blocks/);
});

test('older versions: a backup is restored', async (t) => {
  const [file, kept, restored] = [await olderFile(t), newFile(t), newFile(t)];
  await perform(['backup', kept, '--db', file]);
  await perform(['restore', kept, '--db', restored]);
  assert.equal(await notesIn(restored), 16);
});

test('older versions: an export is imported into the current one', async (t) => {
  const [file, db] = [await olderFile(t), newFile(t)];
  const { output } = await perform(['export', '--db', file]);
  assert.deepEqual(JSON.parse(output.split('\n')[0] ?? '').counts, COUNTS);
  await perform(['import', '--db', db], { input: output });
  assert.equal(await notesIn(db), 16);
});

test('older versions: a copy has the current version and no tags', async (t) => {
  const [file, to] = [await olderFile(t), newFile(t)];
  const done = `${file} and ${to} have the same content: ${formatCounts(COUNTS)}`;
  for (const run of ['first', 'second']) assert.equal(await copy(file, to), done, run);
  await change(await openDatabase(t, to), `INSERT INTO tags (name) VALUES ('a')`);
});

test('older versions: a copy refuses a target with tags', async (t) => {
  const [file, to] = [await olderFile(t), newFile(t)];
  const database = await openDatabase(t, to);
  await change(database, `INSERT INTO tags (name) VALUES ('a')`);
  await change(database, 'CREATE TABLE notes_server_copy (begun INTEGER) STRICT');
  await database.close();
  await assert.rejects(copy(file, to), /it already holds other records$/);
});
