// The tests of the log of changes as clients follow it, for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ChangesRequest,
  type Cursor,
  KEPT_CHANGES,
  lastCursor,
  MAX_LOOKED_AT,
  MAX_RECORD_BYTES,
  PLACE_LIMITS,
  readChanges,
} from '../../src/changes/changes.ts';
import { ChangeFeed, FEED_TIMES } from '../../src/changes/feed.ts';
import { EMPTY_LOG, renewGeneration } from '../../src/commands/import.ts';
import type { Database } from '../../src/storage/database.ts';
import { change, overhear, withNumbers } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import type { Engine } from '../support/engines.ts';
import { setLimits } from '../support/overload.ts';
import { tablesOf } from '../support/tables.ts';
import { until } from '../support/until.ts';

const NEVER = new AbortController().signal;

/** Reads all changes after a cursor; undefined if it has expired. */
function read(database: Database, after: Cursor, limit = 1_000, withRecords = false) {
  return readChanges(database, { after, limit, withRecords });
}

function startFeed(t: Ends, database: Database): ChangeFeed {
  const feed = new ChangeFeed(database);
  t.after(() => feed.close());
  return feed;
}

/** Registers the tests on `engine`. */
export function testChanges(engine: Engine): void {
  test('changes: answers with records have a bounded length', async (t) => {
    const database = await engine.open(t);
    const start = await lastCursor(database);
    const { notes } = tablesOf(database);
    const long = 'x'.repeat(MAX_RECORD_BYTES / 4);
    await notes.create(Array.from({ length: 10 }, () => ['long', long]));
    let after = start;
    for (const count of [4, 4, 2]) {
      const changes = await read(database, after, 1_000, true);
      assert.equal(changes?.items.length, count);
      assert.equal(changes?.hasMore, count > 2);
      after = changes?.next ?? start;
    }
    await notes.change(1, ['longer than all', long.repeat(5)]);
    const alone = await read(database, after, 1_000, true);
    assert.equal(JSON.parse(alone?.items[0]?.text ?? '').record.body.length, 5 * long.length);
  });

  test('changes: numbers that were never used are no gaps', async (t) => {
    const database = await engine.open(t);
    const start = await lastCursor(database);
    // As a write leaves them that finds no record.
    await change(database, `INSERT INTO changes (number, type, id) VALUES (3, 'tag.deleted', 1)`);
    const changes = await read(database, start);
    assert.deepEqual(
      changes?.items.map(({ type }) => type),
      ['tag.deleted'],
    );
  });

  test('changes: a read looks at some of the log, and the next one goes on', async (t) => {
    const database = await engine.open(t);
    const start = await lastCursor(database);
    const { notes } = tablesOf(database);
    const others = `${withNumbers(MAX_LOOKED_AT)}
      INSERT INTO changes (type, id) SELECT 'tag.deleted', n FROM numbers`;
    await database.transact([{ sql: others }]);
    await notes.create([['a', 'b']]);
    await database.transact([{ sql: others }]);
    const found: number[] = [];
    let after: Cursor | undefined = start;
    for (let hasMore = true; hasMore; ) {
      const request = { after, limit: 10, withRecords: true, types: ['note.created'] };
      const changes = await readChanges(database, request);
      found.push(changes?.items.length ?? -1);
      hasMore = changes?.hasMore ?? false;
      after = changes?.next ?? start;
    }
    assert.deepEqual(found, [0, 1, 0]);
    assert.deepEqual(after, await lastCursor(database));
    assert.equal(after.number, 2 * MAX_LOOKED_AT + 1);
  });

  test('changes: a cursor of another generation, or of the future', async (t) => {
    const database = await engine.open(t);
    const { notes } = tablesOf(database);
    await notes.create([['a', 'b']]);
    const cursor = await lastCursor(database);
    assert.deepEqual((await read(database, cursor))?.items, []);
    assert.equal(await read(database, { ...cursor, number: cursor.number + 1 }), undefined);
    assert.equal(await read(database, { ...cursor, generation: '00000000' }), undefined);
    await database.transact([EMPTY_LOG, renewGeneration()]);
    assert.equal(await read(database, cursor), undefined);
    const next = await lastCursor(database);
    assert.notEqual(next.generation, cursor.generation);
    assert.equal(next.number, cursor.number);
    assert.equal(await read(database, { ...next, number: next.number - 1 }), undefined);
    await notes.create([['c', 'd']]);
    assert.equal((await read(database, next))?.items[0]?.type, 'note.created');
  });

  test('changes: a cursor before the oldest change that is kept', async (t) => {
    const database = await engine.open(t);
    const { notes } = tablesOf(database);
    await notes.create([{}, {}]);
    const start = await lastCursor(database);
    const last = start.number + KEPT_CHANGES - 1;
    await change(database, `UPDATE sqlite_sequence SET seq = ${last} WHERE name = 'changes'`);
    await notes.create([['e', 'f']]);
    assert.equal((await read(database, start))?.items.length, 1);
    await notes.create([['g', 'h']]);
    assert.equal(await read(database, start), undefined);
    const next = { ...start, number: start.number + 1 };
    assert.equal((await read(database, next))?.items.length, 2);
  });

  test('change feed: own writes begin a round at once, those of others soon', async (t) => {
    const database = await engine.open(t);
    const feed = startFeed(t, database);
    const { round } = feed;
    const woken = feed.wait(round, 60_000, NEVER);
    feed.beginRoundSoon();
    await woken;
    assert.notEqual(feed.round, round);
    const after = await lastCursor(database);
    const written = change(database, `INSERT INTO tags (name) VALUES ('t')`);
    for (;;) {
      const seen = feed.round;
      const changes = await feed.read({ after, limit: 1, withRecords: false });
      if (changes?.items.length === 1) break;
      await feed.wait(seen, 10_000, NEVER);
      assert.notEqual(feed.round, seen, 'nobody was woken');
    }
    await written;
  });

  test('change feed: nobody who follows misses a write', async (t) => {
    const database = await engine.open(t);
    const feed = startFeed(t, database);
    const { round } = feed;
    feed.beginRoundSoon();
    // Before the wait.
    await feed.wait(round, 60_000, NEVER);
    const ended = new AbortController();
    const waits = [feed.wait(feed.round, 60_000, ended.signal), feed.wait(feed.round, 1, NEVER)];
    ended.abort();
    await Promise.all(waits);
    feed.close();
    await feed.wait(feed.round, 60_000, NEVER);
    assert.equal(feed.isClosed, true);
  });

  test('change feed: one read for all at the same cursor', async (t) => {
    const { database, reads } = overhear(await engine.open(t));
    const feed = startFeed(t, database);
    const after = await lastCursor(database);
    const request = { after, limit: 10, withRecords: false };
    reads.length = 0;
    const results = await Promise.all([
      ...Array.from({ length: 50 }, () => feed.read({ ...request })),
      feed.read({ ...request, limit: 5 }),
    ]);
    assert.ok(results.every((each) => each?.items.length === 0));
    assert.equal(reads.length, 2);
  });

  test('change feed: what many ask for waits for itself, not in front of others', async (t) => {
    const opened = await engine.open(t);
    let [reading, most, count] = [0, 0, 0];
    const read: Database['read'] = async (statement) => {
      reading += 1;
      count += 1;
      most = Math.max(most, reading);
      return opened.read(statement).finally(() => {
        reading -= 1;
      });
    };
    const feed = startFeed(t, { ...opened, read });
    await tablesOf(opened).notes.create([['a', 'b']]);
    const after = { ...(await feed.lastCursor()), number: 0 };
    const limits = Array.from({ length: 50 }, (_, index) => index + 1);
    const asked: Partial<ChangesRequest>[] = [{}, { withRecords: true }, { types: ['none'] }];
    setLimits(t, PLACE_LIMITS, { lookedAt: 1 });
    for (const each of asked) {
      [most, count] = [0, 0];
      const request = { after, withRecords: false, ...each };
      await Promise.all(limits.map((limit) => feed.read({ ...request, limit })));
      assert.deepEqual([most, count], [1, 50]);
    }
    [most, count] = [0, 0];
    const late = limits.map((limit) => feed.cursorAt(8e15 + limit));
    assert.deepEqual(new Set((await Promise.all(late)).map((each) => each?.number)).size, 1);
    assert.deepEqual([most, count], [1, 100]);
  });

  test('change feed: looks for changes only while somebody waits', async (t) => {
    const opened = await engine.open(t);
    let [looks, reading] = [0, 0];
    const { freshness } = opened;
    const database: Database = {
      ...opened,
      async read(statement) {
        looks += 1;
        reading += 1;
        return opened.read(statement).finally(() => {
          reading -= 1;
        });
      },
      freshness: freshness && {
        ...freshness,
        revision() {
          looks += 1;
          return freshness.revision();
        },
      },
    };
    const timers = () =>
      process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const before = timers();
    setLimits(t, FEED_TIMES, { lookMs: 1, queryMs: 1 });
    const feed = startFeed(t, database);
    await feed.wait(feed.round, 60_000, NEVER);
    const waiting = feed.wait(feed.round, 60_000, NEVER);
    await until(() => looks > 3);
    feed.beginRoundSoon();
    await waiting;
    // No timer of the feed is left that could begin another look.
    await until(() => reading === 0 && timers() <= before);
    feed.close();
    // A write that ends later begins no round: the database may be closed by then.
    feed.beginRoundSoon();
    assert.ok(timers() <= before);
  });
}
