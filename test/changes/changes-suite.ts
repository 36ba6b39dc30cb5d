// The tests of the log of changes as clients follow it, for any engine.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Cursor,
  KEPT_CHANGES,
  lastCursor,
  MAX_RECORD_BYTES,
  readChanges,
} from '../../src/changes/changes.ts';
import { ChangeFeed, FEED_TIMES } from '../../src/changes/feed.ts';
import { EMPTY_LOG, renewGeneration } from '../../src/commands/import.ts';
import type { Database } from '../../src/storage/database.ts';
import { change, overhear, rows } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import type { Engine } from '../support/engines.ts';
import { linkedTablesOf } from '../support/link-games.ts';
import { expected } from '../support/records.ts';
import { tablesOf } from '../support/tables.ts';
import { until } from '../support/until.ts';

const NEVER = new AbortController().signal;

/** Reads all changes after a cursor; undefined if it has expired. */
function read(database: Database, after: Cursor, limit = 1_000, withRecords = false) {
  return readChanges(database, { after, limit, withRecords });
}

/** Returns each change without id, time and punctuation, such as "note.created note_id:1". */
function textsOf(items: readonly { readonly text: string }[] = []): string[] {
  return items.map(({ text }) =>
    text
      .slice(1, -1)
      .replaceAll('"', '')
      .replace(/^id:[^,]*,type:/, '')
      .replace(/,at:[^,]*/, '')
      .replaceAll(',', ' '),
  );
}

function startFeed(t: Ends, database: Database): ChangeFeed {
  const feed = new ChangeFeed(database);
  t.after(() => feed.close());
  return feed;
}

/** Registers the tests on `engine`. */
export function testChanges(engine: Engine): void {
  test('changes: each kind names its records, and has the time of its write', async (t) => {
    const database = await engine.open(t);
    const start = await lastCursor(database);
    const { notes, tags, links } = linkedTablesOf(database);
    const { comments } = tablesOf(database);
    let after = start;
    for (const [write, ...texts] of [
      [() => notes.create([['a', 'b']]), 'note.created note_id:1'],
      [() => tags.create([['t']]), 'tag.created tag_id:1'],
      [() => comments.create([['c']], 1), 'comment.created note_id:1 comment_id:1'],
      [() => links.add([1, 1]), 'note.tagged note_id:1 tag_id:1'],
      [() => notes.change(1, ['d', 'e']), 'note.updated note_id:1'],
      [() => comments.change(1, ['f'], 1), 'comment.updated note_id:1 comment_id:1'],
      [() => links.remove([1, 1]), 'note.untagged note_id:1 tag_id:1'],
      [
        () => notes.createTagged([['g', 'h']], [[0, 1]]),
        ...['note.created note_id:2', 'note.tagged note_id:2 tag_id:1'],
      ],
      [
        () => notes.changeTagged(2, ['i', null], []),
        ...['note.untagged note_id:2 tag_id:1', 'note.updated note_id:2'],
      ],
      [() => tags.remove(1), 'tag.deleted tag_id:1'],
      [
        () => notes.remove(1),
        ...['comment.deleted note_id:1 comment_id:1', 'note.deleted note_id:1'],
      ],
    ] as const) {
      const begun = new Date().toISOString();
      await write();
      const ended = new Date().toISOString();
      const changes = await read(database, after);
      assert.deepEqual(textsOf(changes?.items), texts);
      for (const { text } of changes?.items ?? []) {
        const { at, type } = JSON.parse(text);
        assert.ok(begun <= at && at <= ended, `${text} between ${begun} and ${ended}`);
        const [, table] = /^(\w+)\.(?:created|updated)$/.exec(type) ?? [];
        if (!table) continue;
        const [row] = await rows(database, `SELECT max(updated_at) AS last FROM ${table}s`);
        assert.equal(at, new Date(Number(row?.last)).toISOString());
      }
      assert.equal(changes?.hasMore, false);
      after = changes?.next ?? start;
    }
    assert.deepEqual(after, { ...start, number: 14 });
  });

  test('changes: the current records, in answers of bounded length', async (t) => {
    const database = await engine.open(t);
    const start = await lastCursor(database);
    const { notes } = tablesOf(database);
    await notes.create([
      ['spaces and\n"lines"', 'b'],
      ['gone', 'd'],
    ]);
    await notes.remove(2);
    await change(database, "INSERT INTO tags (name) VALUES ('t'); ");
    const records = async (after: Cursor) => {
      const changes = await read(database, after, 1_000, true);
      return changes?.items.map(({ text }) => JSON.parse(text).record);
    };
    const first = expected({ id: 1, title: 'spaces and\n"lines"', body: 'b' });
    assert.deepEqual(await records(start), [first, null, null, { id: 1, name: 't' }]);
    const long = 'x'.repeat(MAX_RECORD_BYTES / 4);
    await notes.create(Array.from({ length: 10 }, () => ['long', long]));
    let after = { ...start, number: 4 };
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
    assert.deepEqual(textsOf((await read(database, start))?.items), ['tag.deleted tag_id:1']);
  });

  test('changes: a cursor of another generation, or of the future', async (t) => {
    const database = await engine.open(t);
    const { notes } = tablesOf(database);
    await notes.create([['a', 'b']]);
    const cursor = await lastCursor(database);
    assert.deepEqual((await read(database, cursor))?.items, []);
    assert.equal(await read(database, { ...cursor, number: cursor.number + 1 }), undefined);
    assert.equal(await read(database, { ...cursor, generation: '00000000' }), undefined);
    await database.transact(randomUUID(), [EMPTY_LOG, renewGeneration()]);
    assert.equal(await read(database, cursor), undefined);
    const next = await lastCursor(database);
    assert.notEqual(next.generation, cursor.generation);
    assert.equal(next.number, cursor.number);
    assert.equal(await read(database, { ...next, number: next.number - 1 }), undefined);
    await notes.create([['c', 'd']]);
    assert.deepEqual(textsOf((await read(database, next))?.items), ['note.created note_id:2']);
  });

  test('changes: a cursor before the oldest change that is kept', async (t) => {
    const database = await engine.open(t);
    const { notes } = tablesOf(database);
    await notes.create([
      ['a', 'b'],
      ['c', 'd'],
    ]);
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
    await feed.readInRound(request);
    await feed.readInRound({ ...request });
    assert.equal(reads.length, 3);
    feed.beginRoundSoon();
    await feed.readInRound(request);
    assert.equal(reads.length, 4);
  });

  test('change feed: looks for changes only while somebody waits', async (t) => {
    const opened = await engine.open(t);
    let looks = 0;
    const { freshness } = opened;
    const database: Database = {
      ...opened,
      read(statement) {
        looks += 1;
        return opened.read(statement);
      },
      ...(freshness && {
        freshness: {
          ...freshness,
          revision() {
            looks += 1;
            return freshness.revision();
          },
        },
      }),
    };
    const before = { ...FEED_TIMES };
    t.after(() => Object.assign(FEED_TIMES, before));
    Object.assign(FEED_TIMES, { lookMs: 1, queryMs: 1 });
    const feed = startFeed(t, database);
    await feed.wait(feed.round, 60_000, NEVER);
    const waiting = feed.wait(feed.round, 60_000, NEVER);
    await until(() => looks > 3);
    feed.beginRoundSoon();
    await waiting;
    // The look that was under way.
    await delay(20);
    looks = 0;
    await delay(20);
    assert.equal(looks, 0);
  });
}
