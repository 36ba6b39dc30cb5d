// `notes-server check --repair FILE`: rebuilds the counts and the search index, changes nothing
// else, and refuses what it cannot mend.
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { blockCountsOf, checkFile } from '../../../src/commands/check.ts';
import { repairFile } from '../../../src/commands/repair.ts';
import { RELATIONS } from '../../../src/storage/schema/steps.ts';
import { runCommand } from '../../support/command.ts';
import {
  contentsOf,
  damagePageOf,
  holdLock,
  LOSE_INDEXED_ROW,
  newFile,
  openDatabase,
  rows,
  writeForeignFile,
} from '../../support/databases.ts';
import { controlDriver } from '../../support/failing-driver.ts';
import { filledFile } from '../../support/filled.ts';
import { exported } from '../../support/in-process-command.ts';
import {
  assertIndexed,
  bringUpToDate,
  isIndexed,
  setIndexTimes,
} from '../../support/search-index.ts';
import { startService } from '../../support/service.ts';

const COUNTERS = RELATIONS.flatMap(blockCountsOf).map(({ table }) => table);

/** A file with 306 notes, whose index is up to date, to be copied. */
const indexed = await filledFile({ after }, 300);
const opened = await openDatabase({ after }, indexed);
await bringUpToDate(opened);
const filled = COUNTERS.map((table) => `SELECT '${table}' AS name FROM ${table}`);
const filledCounters = (await rows(opened, filled.join(' UNION '))).map(({ name }) => name);
await opened.close();

/** Returns a copy of it. */
function indexedFile(t: TestContext): string {
  setIndexTimes(t, { maxWaitMs: 60_000 });
  const path = newFile(t);
  copyFileSync(indexed, path);
  return path;
}

/** Returns the rows of all tables, but for counters and indexes. */
async function restOf(t: TestContext, path: string): Promise<unknown> {
  const database = await openDatabase(t, path);
  const sql = `SELECT name, sql FROM sqlite_schema
    WHERE type = 'table' AND name NOT GLOB 'note_words*' ORDER BY name`;
  const kept = (await rows(database, sql)).filter(({ name }) => !COUNTERS.includes(String(name)));
  const content = kept.map(({ name }) => rows(database, `SELECT * FROM ${name}`));
  const all = [kept, await Promise.all(content)];
  await database.close();
  return all;
}

const DAMAGES: Record<string, string> = {
  ...Object.fromEntries(
    filledCounters.map((table) => [`wrong ${table}`, `UPDATE ${table} SET count = 9`]),
  ),
  'wrong bounds of times': 'UPDATE note_blocks SET created_to = 5, updated_from = 1e15',
  'counts of no records': 'INSERT INTO comment_blocks VALUES (7, 3, 1), (8, 0, -1)',
  'no counts': COUNTERS.map((table) => `DELETE FROM ${table}`).join('; '),
  'an index that lacks notes': 'DELETE FROM note_words WHERE rowid > 3',
  'an index without content': 'DELETE FROM note_words_data',
  'an index whose words cannot be looked up': 'DELETE FROM note_words_idx',
  'an index that cannot be ranked': 'DELETE FROM note_words_data WHERE id = 1',
  'an index without a position': 'DELETE FROM note_words_position',
};

for (const [what, sql] of Object.entries(DAMAGES)) {
  test(`repair: mends ${what}, and changes nothing else`, async (t) => {
    const path = indexedFile(t);
    await writeForeignFile(path, sql);
    assert.notDeepEqual(await checkFile(path), []);
    const before = await restOf(t, path);
    await repairFile(path);
    assert.deepEqual(await checkFile(path), []);
    assert.deepEqual(await restOf(t, path), before);
    const database = await openDatabase(t, path);
    assert.ok(await isIndexed(database));
    await assertIndexed(database);
  });
}

test('repair: after another program has moved comments and damaged the index', async (t) => {
  const path = indexedFile(t);
  await writeForeignFile(
    path,
    `UPDATE comments SET note_id = 3; DELETE FROM note_blocks;
     INSERT INTO note_words (rowid, title, body) VALUES (999, 'title', 'cheese')`,
  );
  const ending = await runCommand(t, ['check', '--repair', path], { coverage: true });
  assert.deepEqual(ending, { status: 0, signal: null, stdout: `${path}: ok\n`, stderr: '' });
  assert.deepEqual(await checkFile(path), []);

  const { request } = await startService(t, { db: path });
  for (const [target, count, ids] of [
    ['/notes?offset=305', 306, [307]],
    ['/notes/1/comments', 0, []],
    ['/notes/3/comments', 1, [1]],
    ['/notes?q=title&offset=298', 299, [300]],
    ['/notes?q=cheese', 0, []],
  ] as const) {
    const { items, total } = (await request('GET', target)).json;
    assert.deepEqual([total, items.map(({ id }: { id: number }) => id)], [count, ids], target);
  }
});

test('repair: keeps records with ids that the service does not assign', async (t) => {
  const path = indexedFile(t);
  await writeForeignFile(
    path,
    `INSERT INTO notes (id, title, body, number)
     SELECT value, 'odd', 'id', 5000 + value FROM json_each('[-1500, -1, 0]');
     UPDATE sqlite_sequence SET seq = 6000 WHERE name = 'changes'`,
  );
  await repairFile(path);
  assert.deepEqual(await checkFile(path), []);
  const database = await openDatabase(t, path);
  assert.ok(await isIndexed(database));
  await assertIndexed(database);
  await database.close();
  // It cannot be represented exactly, so a search does not find it.
  await writeForeignFile(
    path,
    `INSERT INTO notes (id, title, body, number) VALUES (${2n ** 53n + 1n}, 'far', 'away', 5500)`,
  );
  await repairFile(path);
  assert.match(String(await checkFile(path)), /^note_words: /);
  assert.match(await exported(path), /"id":9007199254740993,/);
});

test('repair: what it cannot mend is reported afterwards, status 1', async (t) => {
  const path = await filledFile(t, 1);
  await writeForeignFile(
    path,
    'DELETE FROM tags; DELETE FROM erased_records; UPDATE note_blocks SET count = 9',
  );
  const { status, stdout } = await runCommand(t, ['check', path, '--repair']);
  assert.equal(status, 1);
  assert.match(stdout, /^(\S+: note_tags: record [13] has no tag\n){2}$/);
});

/** What is not repaired, and the reason; a function damages a sound file. */
const REFUSED: Record<string, [damage: (path: string, t: TestContext) => unknown, RegExp]> = {
  'a file in use': [
    (path, t) => holdLock(t, path, 'SELECT count(*) FROM notes'),
    /cannot open .*: another process is using it; stop that process first$/m,
  ],
  'damaged pages': [(path) => damagePageOf(path, 'title 200'), /cannot repair \S+: it is damaged/],
  'an index of SQLite that lacks a row': [
    (path) => writeForeignFile(path, LOSE_INDEXED_ROW),
    /it is damaged \(.* index comments_of_note\); restore a backup$/m,
  ],
  'an unfinished import': [
    (path) => writeForeignFile(path, 'CREATE TABLE notes_server_import (begun INTEGER) STRICT'),
    /cannot open .*: it holds an unfinished import: run the import again$/m,
  ],
  'a missing trigger': [
    (path) => writeForeignFile(path, 'DROP TRIGGER note_created'),
    /the schema has no note_created; export the records and import them elsewhere$/m,
  ],
};

for (const [what, [damage, reason]] of Object.entries(REFUSED)) {
  test(`repair: ${what} is refused, and nothing changes`, async (t) => {
    const path = indexedFile(t);
    await damage(path, t);
    const contents = () => ({ ...contentsOf(dirname(path)), 'notes.db-shm': undefined });
    const before = contents();
    await assert.rejects(repairFile(path), { name: 'DatabaseUnusable', message: reason });
    assert.deepEqual(contents(), before);
  });
}

test('repair: a failure of any call leaves the file as it was', async (t) => {
  const path = indexedFile(t);
  await writeForeignFile(path, 'DELETE FROM note_words WHERE rowid > 3; DELETE FROM note_blocks');
  const before = readFileSync(path);
  const driver = controlDriver(t);
  let call = 1;
  for (let hasFailed = true; hasFailed; call += 1) {
    driver.arm({ call, code: 'FULL', manner: 'once' });
    const repairing = repairFile(path);
    hasFailed = await repairing.then(
      () => false,
      () => true,
    );
    assert.deepEqual(hasFailed, driver.hasFailed());
    if (hasFailed) assert.deepEqual(readFileSync(path), before, `call ${call}`);
  }
  driver.arm(undefined);
  assert.ok(call > 20, `${call} calls`);
  assert.deepEqual(await checkFile(path), []);
});
