// The memory returns nothing that may be outdated: each rule of its proof, with a revision that the
// test sets, and a service that many write to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERASURES, onRows } from '../../src/history/writes.ts';
import { FreshMemory } from '../../src/memory/fresh-memory.ts';
import { type Change, createWriter, PAGES } from '../../src/storage/writer.ts';
import { change, openDatabase, rows } from '../support/databases.ts';
import { playLedger } from '../support/freshness-ledger.ts';

const TEXT = { text: 'text' };
const NEW = { text: 'new' };

/** A memory whose database is at a revision that the test changes. */
function startMemory(maxBytes = 1_000_000) {
  const database = { revision: 1 as number | undefined };
  const memory = new FreshMemory(
    {
      revision: () => database.revision?.toString(),
      committed: () => database.revision?.toString(),
      isNext: (before, after) => Number(after) === Number(before) + 1,
    },
    maxBytes,
  );
  const keep = (key: number, value = TEXT) => memory.keep(memory.check(), 'notes', [[key, value]]);
  /** Runs a transaction that moves the database on by `steps`. */
  function commit(changes: readonly Change[], steps = 1): void {
    memory.begin();
    database.revision = (database.revision ?? 0) + steps;
    memory.end({ changes });
  }
  return { memory, database, keep, commit, find: (key: number) => memory.find('notes', key) };
}

test('memory: finds what it keeps until the database changes', async () => {
  const { database, keep, find } = startMemory();
  keep(1);
  assert.deepEqual(await find(1), TEXT);
  assert.equal(await find(2), undefined);
  database.revision = 2;
  assert.equal(await find(1), undefined);
  database.revision = 1;
  assert.equal(await find(1), undefined);
});

test('memory: one check serves the calls of one run', async () => {
  let checks = 0;
  const revision = () => {
    checks += 1;
    return '1';
  };
  const memory = new FreshMemory({ revision, committed: revision, isNext: () => false }, 1_000);
  for (const key of [1, 2, 3]) memory.find('notes', key);
  assert.equal(checks, 1);
  await undefined;
  memory.find('notes', 1);
  assert.equal(checks, 2);
});

test('memory: does not keep what was read while the database changed', async () => {
  const { memory, database, find } = startMemory();
  const before = memory.check();
  database.revision = 2;
  memory.keep(before, 'notes', [[1, TEXT]]);
  memory.check();
  memory.keep(before, 'notes', [[1, TEXT]]);
  assert.equal(await find(1), undefined);
});

test('memory: a transaction of its own moves everything on', async () => {
  const { keep, commit, find, memory } = startMemory();
  for (const key of [1, 2, 3, 4]) keep(key);
  memory.keep(memory.check(), PAGES, [['page', TEXT]]);
  commit([
    ['notes', 2, NEW],
    ['notes', 3],
    ['notes', 4, NEW],
    ['notes', 4],
    ['notes', 5, NEW],
  ]);
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(find)), [
    TEXT,
    NEW,
    undefined,
    undefined,
    // Nobody has read it.
    undefined,
  ]);
  assert.equal(await memory.find(PAGES, 'page'), undefined);
});

test('memory: what is erased in the background leaves records', async (t) => {
  const database = await openDatabase(t);
  const memory = new FreshMemory(database.freshness, 1_000_000);
  const write = createWriter(database, [memory]);
  const values = "0, 0, 0, 0, 'a', 'b'";
  await change(database, `INSERT INTO note_versions VALUES (1, ${values}), (2, ${values})`);
  memory.keep(memory.check(), 'notes', [[1, TEXT]]);
  // The second time, there is nothing to erase.
  for (const id of [1, 1, 2]) await write(ERASURES.versions, onRows([id]));
  assert.deepEqual(await rows(database, 'SELECT * FROM note_versions'), []);
  assert.deepEqual(memory.find('notes', 1), TEXT);
});

test('memory: a change of a whole area forgets all of it', async () => {
  const { keep, commit, find, memory } = startMemory();
  keep(1);
  memory.keep(memory.check(), 'comments', [[1, TEXT]]);
  commit([['comments']]);
  assert.equal(await memory.find('comments', 1), undefined);
  assert.deepEqual(await find(1), TEXT);
});

for (const { name, changes, steps } of [
  { name: 'another transaction beside it', changes: [['notes', 1, NEW]] as const, steps: 2 },
  { name: 'a change that may be of another process', changes: [], steps: 1 },
]) {
  test(`memory: ${name} empties it`, async () => {
    const { keep, commit, find } = startMemory();
    keep(1);
    commit(changes, steps);
    assert.equal(await find(1), undefined);
    keep(1);
    assert.deepEqual(await find(1), TEXT);
  });
}

test('memory: a transaction without an effect leaves everything', async () => {
  const { keep, commit, find } = startMemory();
  keep(1);
  commit([], 0);
  assert.deepEqual(await find(1), TEXT);
});

test('memory: neither used nor emptied while an ended transaction has not returned', async () => {
  const { memory, database, keep, find } = startMemory();
  keep(1);
  memory.begin();
  assert.deepEqual(await find(1), TEXT);
  database.revision = 2;
  assert.equal(await find(1), undefined);
  keep(3);
  memory.end({ changes: [['notes', 1, NEW]] });
  assert.deepEqual(await Promise.all([1, 3].map(find)), [NEW, undefined]);
});

test('memory: keeps nothing while the revision is unknown', async () => {
  const { database, keep, find, commit } = startMemory();
  keep(1);
  database.revision = undefined;
  assert.equal(await find(1), undefined);
  keep(1);
  assert.equal(await find(1), undefined);
  commit([['notes', 1, NEW]]);
  keep(2);
  assert.deepEqual(await Promise.all([1, 2].map(find)), [undefined, TEXT]);
});

test('memory: is given up where a commit does not change the revision', async () => {
  const { keep, commit, find } = startMemory();
  keep(1);
  commit([['notes', 1, NEW]], 0);
  keep(1);
  assert.equal(await find(1), undefined);
});

test('memory: nothing without a bound or without a revision', async () => {
  const revision = () => '1';
  const freshness = { revision, committed: revision, isNext: () => true };
  for (const memory of [new FreshMemory(freshness, 0), new FreshMemory(undefined, 1_000_000)]) {
    memory.keep(memory.check(), 'notes', [[1, TEXT]]);
    assert.equal(await memory.find('notes', 1), undefined);
  }
});

test('memory: its bound is in bytes, and what is used often stays', async () => {
  const { keep, find } = startMemory(10_000);
  const long = { text: 'x'.repeat(1_500) };
  for (const key of [1, 2, 3, 4]) keep(key, long);
  for (let uses = 0; uses < 8; uses += 1) assert.deepEqual(await find(1), long);
  keep(5, long);
  keep(6, long);
  const found = await Promise.all([1, 2, 3, 4, 5, 6].map(find));
  assert.deepEqual(
    found.map((value) => value !== undefined),
    [true, false, true, true, true, true],
  );
  // Two bytes for each character, and more than the bound.
  keep(7, { text: 'é'.repeat(5_000) });
  assert.equal(await find(7), undefined);
  keep(8, Object.assign({ text: 'x' }, { links: ['x'.repeat(10_000)] }));
  assert.equal(await find(8), undefined);
});

test('memory: its areas share the bound, and the largest one gives way', () => {
  const { memory, keep, find } = startMemory(10_000);
  const long = { text: 'x'.repeat(1_500) };
  keep(1, long);
  for (const page of 'abcdef') memory.keep(memory.check(), PAGES, [[page, long]]);
  assert.ok(memory.bytes <= 10_000);
  assert.deepEqual(find(1), long);
  const found = [...'abcdef'].filter((page) => memory.find(PAGES, page));
  assert.deepEqual(found.join(''), 'cdef');
});

test('memory: does not keep a value without a text', async () => {
  const { memory, find } = startMemory();
  memory.keep(memory.check(), 'notes', [[1, { text: undefined }]]);
  assert.equal(memory.bytes, 0);
  assert.equal(await find(1), undefined);
});

test('memory: never stale with three writers and sixteen readers', async (t) => {
  const { stale, reads, fromMemory } = await playLedger(t, 150);
  assert.deepEqual(stale, []);
  assert.ok(fromMemory > 0, `${fromMemory} of ${reads} reads from memory`);
});
