// The revision of a file differs after every commit of any process, and tells apart one commit from
// several.
import assert from 'node:assert/strict';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { openWalIndex } from '../../src/file-guard/wal-index.ts';
import { newFile, openOther } from '../support/databases.ts';

/** Opens a file in WAL mode with two connections and its revisions. */
async function openFile(t: TestContext) {
  const path = newFile(t);
  const [one, other] = [await openOther(t, path), await openOther(t, path)];
  await one.execute('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number)');
  const index = openWalIndex(path);
  assert.ok(index);
  t.after(() => index.close());
  const revision = () => index.revision() ?? assert.fail('the revision is unknown');
  return { path, one, other, index, revision };
}

const COMMIT = 'INSERT INTO numbers VALUES (1);';

test('wal-index: each commit is one step, and nothing else is', async (t) => {
  const { one, other, index, revision } = await openFile(t);
  for (const connection of [one, other, one]) {
    const before = revision();
    await connection.execute(`BEGIN IMMEDIATE; ${COMMIT}`);
    assert.equal(revision(), before);
    await connection.execute('ROLLBACK; DELETE FROM numbers WHERE FALSE; SELECT * FROM numbers');
    assert.equal(revision(), before);
    await connection.execute(COMMIT);
    assert.equal(index.isNext(before, revision()), true);
    await connection.execute(COMMIT);
    assert.equal(index.isNext(before, revision()), false);
    assert.equal(index.isNext(before, before), false);
  }
});

test('wal-index: checkpoints of every mode are no commits', async (t) => {
  const { one, other, index, revision } = await openFile(t);
  for (const mode of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
    await one.execute(COMMIT);
    const before = revision();
    await other.execute(`PRAGMA wal_checkpoint(${mode})`);
    assert.equal(index.isNext(before, revision()), false, mode);
    await one.execute(COMMIT);
    assert.equal(index.isNext(before, revision()), true, mode);
  }
});

test('wal-index: the count of commits starts again', async (t) => {
  const { index } = await openFile(t);
  const revisionAt = (count: number) =>
    Buffer.from(new Uint32Array([0, 0, count, ...Array(9).fill(0)]).buffer).toString('latin1');
  assert.equal(index.isNext(revisionAt(2 ** 32 - 1), revisionAt(0)), true);
  assert.equal(index.isNext(revisionAt(2 ** 32 - 1), revisionAt(1)), false);
});

test('wal-index: a recovery repeats counts, but no revision', async (t) => {
  const { path, one, revision } = await openFile(t);
  const seen = [revision()];
  for (let round = 0; round < 3; round += 1) {
    // Two copies of the header that differ: a process was killed while it committed.
    const file = openSync(`${path}-shm`, 'r+');
    writeSync(file, Buffer.alloc(8, round), 0, 8, 8);
    closeSync(file);
    seen.push(revision());
    await one.execute('SELECT * FROM numbers');
    seen.push(revision());
    await one.execute(COMMIT);
    seen.push(revision());
  }
  assert.equal(new Set(seen).size, seen.length);
});

test('wal-index: the revision is unknown if the header is too short', (t) => {
  const path = newFile(t);
  writeFileSync(`${path}-shm`, 'short');
  const index = openWalIndex(path);
  t.after(() => index?.close());
  assert.equal(index?.revision(), undefined);
});
