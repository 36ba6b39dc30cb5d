// Purges of the search index: what they change, and who takes them on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PURGES, purgeOf, startPurges } from '../../src/search/purge.ts';
import { SEARCHABLE } from '../../src/search/steps.ts';
import { type Commit, createWriter } from '../../src/storage/writer.ts';
import { change, openDatabase } from '../support/databases.ts';
import { setLimits } from '../support/overload.ts';
import { until } from '../support/until.ts';

const [resource = assert.fail()] = SEARCHABLE;
const { table } = resource.search;

test('purge: a merge changes the index alone, so that notes stay in memory', async (t) => {
  const database = await openDatabase(t);
  for (const id of [1, 2])
    await change(database, `INSERT INTO ${table} (rowid, title, body) VALUES (${id}, 'a', 'b')`);
  await change(database, `DELETE FROM ${table} WHERE rowid = 1`);
  const commits: Commit[] = [];
  const write = createWriter(database, [{ end: (commit) => commits.push(commit) }]);
  const { kind, state } = purgeOf(resource);
  const merge = (pages: number) => write(kind, { rows: [[pages]], claims: [[0]] });
  assert.deepEqual(await database.read(state), [{ has_marks: 1 }]);
  assert.equal(await merge(-64), true);
  while (await merge(64)) assert.ok(commits.length < 10, 'merges end');
  assert.deepEqual(await database.read(state), [{ has_marks: 0 }]);
  const last = commits.pop();
  assert.deepEqual(last?.changes, [], 'the last one changes nothing');
  for (const { changes } of commits) assert.deepEqual(changes, [[table]]);
});

test('purge: a stop during a pause reads nothing', async (t) => {
  const database = await openDatabase(t);
  let reads = 0;
  async function read() {
    reads += 1;
    return [];
  }
  const end = startPurges(resource, {
    database: { ...database, read },
    write: createWriter(database),
  });
  await end();
  assert.equal(reads, 0, 'a cluster without nodes would make the stop wait');
});

test('purge: only the process that may do it does it', async (t) => {
  setLimits(t, PURGES, { firstPauseMs: 1, failedPauseMs: 1 });
  let asked = 0;
  async function takeWork(): Promise<boolean> {
    asked += 1;
    return false;
  }
  const database = await openDatabase(t);
  const read = () => assert.fail('it reads the index');
  const write = createWriter(database);
  const end = startPurges(resource, { database: { ...database, read }, write, takeWork });
  await until(() => asked > 2);
  await end();
});
