// The tests of the search index, for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { EMPTY_LOG, renewGeneration } from '../../src/commands/import.ts';
import { Pages } from '../../src/lists/pages.ts';
import { notes as resource } from '../../src/resources/notes.ts';
import { INDEX_TIMES, IndexBehind, type SearchIndex } from '../../src/search/search-index.ts';
import { STEP_LIMITS } from '../../src/search/steps.ts';
import { DatabaseUnavailable } from '../../src/storage/database.ts';
import { NO_MEMORY } from '../../src/storage/writer.ts';
import { change, rows, withNumbers } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import {
  assertIndexed,
  isIndexed,
  LONG_BODY,
  manyNotes,
  openIndexed,
  setIndexTimes,
  startIndex,
} from '../support/search-index.ts';
import { listsOf } from '../support/tables.ts';
import { until } from '../support/until.ts';

/** Registers the tests of the index on `engine`. */
export function testSearchIndex(engine: Engine): void {
  test('search index: a page that lacks the last write has another tag', async (t) => {
    const { index, notes } = await openIndexed(t, engine);
    await notes.create([['milk', '']]);
    const search = () => notes.page({ limit: 1, order: 'id', filters: { match: '"milk"' } });
    const before = await search();
    await index.catchUp();
    const after = await search();
    assert.deepEqual([before?.total, after?.total], [0, 1]);
    assert.notEqual(before?.tag, after?.tag);
    assert.equal((await search())?.tag, after?.tag);
  });

  test('search index: a page that may lack a write is kept for the state before', async (t) => {
    const { database, index, notes } = await openIndexed(t, engine);
    await notes.create([['milk', '']]);
    let revision = 'before';
    const catchUp = async () => {
      await index.catchUp();
      await notes.create([['milk', '']]);
      revision = 'after';
    };
    const memory = { ...NO_MEMORY, check: () => revision };
    const pages = new Pages(listsOf(resource, { catchUp } as SearchIndex), database, memory);
    const page = await pages.read({ limit: 10, order: 'id', filters: { match: '"milk"' } });
    assert.deepEqual([page?.total, page?.revision], [1, 'before']);
  });

  test('search index: nothing to do costs one read', async (t) => {
    const { database, index, notes, reads, transactions } = await openIndexed(t, engine);
    await notes.create([['a', 'b']]);
    await index.catchUp();
    // It looks once more for changes, and then pauses.
    await index.catchUp();
    const before = [reads.length, transactions.length];
    await Promise.all([index.catchUp(), index.catchUp(), index.catchUp()]);
    assert.deepEqual([reads.length, transactions.length], [Number(before[0]) + 1, before[1]]);
    await assertIndexed(database);
  });

  test('search index: many changes, of one note and of other records', async (t) => {
    const { database, index } = await openIndexed(t, engine);
    await change(database, manyNotes(STEP_LIMITS.records + 50, `'b'`));
    const changes = `UPDATE notes SET body = 'c' WHERE id = 7`;
    for (let time = 0; time < 10; time += 1) await change(database, changes);
    await index.catchUp();
    await assertIndexed(database);
    await change(database, `${withNumbers(9)} INSERT INTO tags (name) SELECT 't' FROM numbers`);
    await change(database, 'DELETE FROM notes WHERE id % 5 = 1');
    await index.catchUp();
    await assertIndexed(database);
    assert.ok(await isIndexed(database));
  });

  test('search index: long notes take several steps', async (t) => {
    const { database, index, transactions } = await openIndexed(t, engine);
    await change(database, manyNotes(14, LONG_BODY));
    await change(database, 'DELETE FROM notes WHERE id = 4');
    transactions.length = 0;
    await index.catchUp();
    assert.ok(transactions.length > 2, `${transactions.length} steps`);
    await assertIndexed(database);
  });

  test('search index: starts again without the log, and continues after an end', async (t) => {
    const { database, heard, ...first } = await openIndexed(t, engine);
    await change(database, manyNotes(2 * STEP_LIMITS.records + 50, `'b'`));
    await first.index.catchUp();
    // It looks once more for changes after a search has been answered.
    await first.close();
    const { index, close } = startIndex(t, database);
    await change(database, `UPDATE notes SET body = 'new' WHERE id IN (3, 300, 555)`);
    await change(database, 'DELETE FROM notes WHERE id IN (4, 301)');
    await change(database, `INSERT INTO notes (id, title, body) VALUES (-7, 'below', 'one')`);
    await database.transact([EMPTY_LOG, renewGeneration()]);
    let steps = 0;
    heard.beforeTransaction = async () => {
      steps += 1;
      // This one would index the second part of the notes.
      if (steps === 2) throw new DatabaseUnavailable('the end');
    };
    await assert.rejects(index.catchUp(), DatabaseUnavailable);
    await close();
    heard.beforeTransaction = async () => {};
    assert.deepEqual(await rows(database, 'SELECT id FROM note_words_position'), [
      { id: STEP_LIMITS.records },
    ]);
    // Before and after the place that it has reached.
    await change(database, `UPDATE notes SET body = 'newer' WHERE id IN (5, 500)`);
    await change(database, 'DELETE FROM notes WHERE id IN (6, 501)');
    await change(database, `INSERT INTO notes (title, body) VALUES ('last', 'note')`);
    await startIndex(t, database).index.catchUp();
    await assertIndexed(database);
    assert.ok(await isIndexed(database));
  });

  test('search index: several at once', async (t) => {
    const { database, index } = await openIndexed(t, engine);
    const others = [startIndex(t, database), startIndex(t, database)];
    const indexes = [index, ...others.map((each) => each.index)];
    for (let round = 0; round < 3; round += 1) {
      await change(database, manyNotes(300, `'round ${round}'`));
      await change(database, `DELETE FROM notes WHERE id % 7 = ${round}`);
      if (round === 1) await database.transact([EMPTY_LOG, renewGeneration()]);
      await Promise.all(indexes.map((each) => each.catchUp()));
      await assertIndexed(database);
    }
  });

  for (const work of ['a step', 'a new start']) {
    test(`search index: ${work} that comes too late has no effect`, async (t) => {
      const { database, heard, index } = await openIndexed(t, engine);
      await change(database, manyNotes(10, `'old'`));
      if (work === 'a new start') await database.transact([EMPTY_LOG, renewGeneration()]);
      const other = startIndex(t, heard.plain);
      const overtake = async () => {
        heard.beforeTransaction = async () => {};
        await other.index.catchUp();
        await change(heard.plain, `UPDATE notes SET body = 'new'`);
        await change(heard.plain, 'DELETE FROM notes WHERE id = 3');
        await other.index.catchUp();
      };
      heard.beforeTransaction = overtake;
      await index.catchUp();
      assert.notEqual(heard.beforeTransaction, overtake);
      await assertIndexed(database);
    });
  }

  test('search index: a search waits for a single step, however long it takes', async (t) => {
    const { database, heard, index } = await openIndexed(t, engine);
    setIndexTimes(t, { maxWaitMs: 50 });
    await change(database, manyNotes(1, `'b'`));
    heard.beforeTransaction = () => delay(2 * INDEX_TIMES.maxWaitMs);
    await index.catchUp();
    await assertIndexed(database);
  });

  test('search index: a long backlog rejects searches, and is worked off', async (t) => {
    const { database, heard, index } = await openIndexed(t, engine);
    setIndexTimes(t, { maxWaitMs: 10 });
    await change(database, manyNotes(100, `'b'`));
    await assert.rejects(index.catchUp(), IndexBehind);
    await until(() => isIndexed(database));
    setIndexTimes(t, { maxWaitMs: 60_000 });
    await index.catchUp();
    await database.transact([EMPTY_LOG, renewGeneration()]);
    await change(database, `UPDATE notes SET body = 'c' WHERE id = 1`);
    await index.catchUp();
    // It looks once more for changes, and then pauses.
    await index.catchUp();
    await change(heard.plain, `UPDATE notes SET body = 'd' WHERE id = 1`);
    await heard.plain.transact([EMPTY_LOG, renewGeneration()]);
    // A hundred notes take longer than this, no matter how fast the ones before were.
    setIndexTimes(t, { maxWaitMs: 0.01 });
    await assert.rejects(index.catchUp(), IndexBehind);
    await until(() => isIndexed(database));
    await assertIndexed(database);
  });

  test('search index: the background works after a start and after writes', async (t) => {
    setIndexTimes(t, { delayMs: 1 });
    const database = await engine.open(t);
    await change(database, manyNotes(20, `'b'`));
    const { notes } = startIndex(t, database);
    await until(() => isIndexed(database));
    await notes.create([['c', 'd']]);
    await until(() => isIndexed(database));
    await assertIndexed(database);
  });

  test('search index: an unavailable database', async (t) => {
    const times = { delayMs: 1 };
    const { database, heard, index, notes } = await openIndexed(t, engine, times);
    let transactions = 0;
    heard.beforeTransaction = async () => {
      transactions += 1;
      // The first one creates the note. The index may begin before the answer to it is here.
      if (transactions > 1) throw new DatabaseUnavailable('full');
    };
    await notes.create([['a', 'b']]);
    await assert.rejects(index.catchUp(), DatabaseUnavailable);
    await until(() => transactions > 4);
    heard.beforeTransaction = async () => {};
    await until(() => isIndexed(database));
    await assertIndexed(database);
  });

  test('search index: writes nothing after its end', async (t) => {
    const times = { delayMs: 1 };
    const opened = await openIndexed(t, engine, times);
    const { database, index, notes, close, transactions } = opened;
    await change(database, manyNotes(STEP_LIMITS.records + 50, `'b'`));
    let closing: Promise<void> | undefined;
    let isWriting = true;
    opened.heard.beforeTransaction = async () => {
      closing = close().then(() => assert.equal(isWriting, false));
      opened.heard.beforeTransaction = async () => {};
      await rows(database, 'SELECT 1');
      isWriting = false;
    };
    await Promise.allSettled([index.catchUp()]);
    assert.ok(closing);
    await closing;
    const count = transactions.length;
    await notes.create([['c', 'd']]);
    assert.equal(transactions.length, count + 1);
  });
}
