// The tests of tables, for any engine: one table without an owner (notes) and one with (comments).
// Pages are compared with plain queries, and the plan of each generated statement is checked.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PAGE_BATCH_LIMITS } from '../../src/lists/pages.ts';
import { DEEP_OFFSET } from '../../src/lists/request.ts';
import { comments } from '../../src/resources/comments.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { tags } from '../../src/resources/tags.ts';
import type { Database } from '../../src/storage/database.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { overhear, rows, withNumbers } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { planOf } from '../support/plans.ts';
import { expected, expectedText } from '../support/records.ts';
import { type PlainTable, plainTable } from '../support/tables.ts';

async function startTables(test: TestContext, engine: Engine) {
  const database = await engine.open(test);
  const heard = overhear(database);
  const write = createWriter(heard.database);
  const tableOf = (resource: Resource) => plainTable(resource, heard.database, write);
  return {
    database,
    heard,
    notes: tableOf(notes),
    tags: tableOf(tags),
    comments: tableOf(comments),
  };
}

async function parsed(record: Promise<string | undefined>): Promise<unknown> {
  const text = await record;
  return text === undefined ? undefined : JSON.parse(text);
}

async function parsedPage(table: PlainTable, limit: number, offset: number, owner?: number) {
  const page = await table.page(limit, offset, owner);
  return page && { items: JSON.parse(page.items), total: page.total };
}

/** Registers the tests of tables on `engine`. */
export function testTables(engine: Engine): void {
  test('tables: reads that arrive together are one statement', async (t) => {
    const { notes, heard } = await startTables(t, engine);
    await Promise.all(['a', 'b', 'c'].map((name) => notes.create([name, 'line\nfeed\u0000'])));
    const wanted = [3, 99, 1, 3, 0, -1, Number.MAX_SAFE_INTEGER, 2];
    const records = await Promise.all(wanted.map((id) => parsed(notes.read(id))));
    const record = (id: number, title: string) => expected({ id, title, body: 'line\nfeed\u0000' });
    assert.deepEqual(records, [
      ...[record(3, 'c'), undefined, record(1, 'a'), record(3, 'c'), undefined, undefined],
      ...[undefined, record(2, 'b')],
    ]);
    assert.equal(heard.reads.length, 1);
    assert.equal(await notes.read(99), undefined);
  });

  const noPlans = engine.explainsWrites ? false : 'rqlite does not explain statements that write';
  test('tables: no statement about one record scans a table', { skip: noPlans }, async (t) => {
    const { heard, notes, comments } = await startTables(t, engine);
    const calls = [
      () => notes.create(['a', 'b']),
      () => notes.read(1),
      () => notes.replace(1, ['a', 'b']),
      () => notes.patch(1, ['a', null]),
      () => notes.createOnce(['a', 'b'], { key: 'k', fingerprint: 'f' }),
      () => comments.create(['a'], 1),
      () => comments.createOnce(['a'], { key: 'l', fingerprint: 'f' }, 1),
      () => comments.patch(1, ['a'], 1),
      () => comments.read(1, 1),
      () => comments.replace(1, ['a'], 1),
      () => comments.remove(1, 1),
      () => notes.remove(1),
    ];
    for (const call of calls) {
      const plan = await planOf(heard, call);
      const steps = plan.map(({ detail }) => detail);
      assert.ok(
        steps.some((step) => /^SEARCH/.test(step)),
        `${call}`,
      );
      assert.deepEqual(
        steps.filter((step) =>
          /^SCAN (notes|comments|sqlite_sequence|notes_server_answers)\b/.test(step),
        ),
        [],
        `${call}`,
      );
    }
  });

  test('pages: the right records at every depth, several of them in one statement', async (t) => {
    const { database, heard, ...tables } = await startTables(t, engine);
    await database.transact([
      {
        sql: `${withNumbers(9_000)} INSERT INTO notes (id, title, body, number)
              SELECT n, 'note ' || n, 'line' || char(10) || 'feed', n FROM numbers`,
      },
      {
        sql: `INSERT INTO comments (id, note_id, body, number)
              SELECT id, 5 + (id % 3 = 0), title, 9000 + id FROM notes`,
      },
      // Gaps: single ids, whole blocks, and at both ends.
      ...['notes', 'comments'].map((table) => ({
        sql: `DELETE FROM ${table} WHERE id % 7 = 3 OR id BETWEEN 2048 AND 4200 OR id > 8990
                OR id < 4`,
      })),
    ]);
    const idsIn = async (where: string) =>
      (await rows(database, `SELECT id FROM ${where} ORDER BY id`)).map(({ id }) => Number(id));
    const offsets = [0, 0, 1, 1_023, 1_024, DEEP_OFFSET - 1, DEEP_OFFSET, 2_500, 4_000, 1_000_000];
    for (const [name, owner, ids] of [
      ['notes', undefined, await idsIn('notes')],
      ['comments', 5, await idsIn('comments WHERE note_id = 5')],
      ['comments', 6, await idsIn('comments WHERE note_id = 6')],
      ['comments', 3, undefined],
    ] as const) {
      const all = [...offsets, ids?.length ?? 0, (ids?.length ?? 20) - 20];
      for (const limit of [1, 20, 100]) {
        heard.reads.length = 0;
        const read = all.map((offset) => parsedPage(tables[name], limit, offset, owner));
        const found = (await Promise.all(read)).map(
          (page) => page && [page.items.map(({ id }: { id: number }) => id), page.total],
        );
        const expected = all.map(
          (offset) => ids && [ids.slice(offset, offset + limit), ids.length],
        );
        assert.deepEqual(found, expected, `${name} of ${owner}, ${limit}`);
        // Their sizes are known: one statement for near pages and one for deep ones.
        if (limit === 20) assert.equal(heard.reads.length, 2, `${name} of ${owner}`);
      }
    }
  });

  test('tables: records returned in another order are read one by one', async (t) => {
    const { database, notes: plain } = await startTables(t, engine);
    await Promise.all(['a', 'b', 'c'].map((name) => plain.create([name, name])));
    let trips = 0;
    const turned: Database = {
      ...database,
      async read(statement) {
        trips += 1;
        const found = await database.read(statement);
        return found.map(({ lines }) => ({
          lines: String(lines).split('\n').reverse().join('\n'),
        }));
      },
    };
    const table = plainTable(notes, turned);
    const texts = await Promise.all([1, 2, 4, 3].map((id) => table.read(id)));
    assert.deepEqual(texts, [
      expectedText({ id: 1, title: 'a', body: 'a' }),
      expectedText({ id: 2, title: 'b', body: 'b' }),
      undefined,
      expectedText({ id: 3, title: 'c', body: 'c' }),
    ]);
    assert.equal(trips, 1 + 4);

    // The same id below two owners; only one has it.
    const below = plainTable(comments, turned);
    assert.equal(await below.create(['c'], 1), 1);
    const found = await Promise.all([below.read(1, 1), below.read(1, 2)]);
    assert.deepEqual(found, ['{"id":1,"note_id":1,"body":"c"}', undefined]);
  });

  test('pages: large ones share fewer batches; none is read without a client', async (t) => {
    const { notes, heard } = await startTables(t, engine);
    const gone = new Error('gone');
    const check = () => {
      throw gone;
    };
    const { pages, records, characters } = PAGE_BATCH_LIMITS;
    const tripsOf = async (limit: number, ...checks: (() => void)[]) => {
      heard.reads.length = 0;
      const wanted = Array.from({ length: pages }, () => notes.page(limit, 0));
      const others = Promise.allSettled(
        checks.map((each) => notes.page(limit, 0, undefined, each)),
      );
      assert.deepEqual(
        new Set((await Promise.all(wanted)).map((page) => page?.items.length)).size,
        1,
      );
      await others;
      return heard.reads.length;
    };

    await notes.create(['a', 'b']);
    // Two batches of one page each start before the size of the records is known.
    assert.equal(await tripsOf(1), 2 + 1);
    assert.equal(await tripsOf(1), 1);
    assert.equal(await tripsOf(records / 4), pages / 4);
    assert.equal(await tripsOf(records / 4, check), pages / 4);
    assert.equal(await tripsOf(records / 4, check, () => {}), pages / 4 + 1);
    await assert.rejects(notes.page(1, 0, undefined, check), gone);

    await notes.create(['a', 'b'.repeat(characters / 4)]);
    // What counts is the records that exist, not the limit of the page.
    await notes.page(records, 1);
    // An empty page changes nothing.
    await notes.page(records, 2);
    assert.equal(await tripsOf(1), 2 + 1);
    assert.equal(await tripsOf(1), 1);
  });

  test('pages: a small one does not wait for a large one', async (t) => {
    const { database } = await startTables(t, engine);
    const held: (() => void)[] = [];
    let reads = 0;
    const slowFirst: Database = {
      ...database,
      async read(statement) {
        reads += 1;
        const first = reads === 1 ? new Promise<void>((resolve) => held.push(resolve)) : undefined;
        await first;
        return database.read(statement);
      },
    };
    const table = plainTable(notes, slowFirst);
    await table.create(['a', 'b']);
    const large = table.page(100, 0);
    assert.equal((await table.page(1, 0))?.total, 1);
    assert.equal((await table.page(1, DEEP_OFFSET))?.total, 1);
    for (const release of held) release();
    assert.equal((await large)?.total, 1);
  });

  test('pages: those of an owner are read from an index, deep ones from their block', async (t) => {
    const { heard, notes, comments } = await startTables(t, engine);
    await notes.create(['a', 'b']);
    for (const [call, source] of [
      [() => comments.page(20, 0, 1), 'SEARCH comments USING INDEX comments_of_note (note_id=?)'],
      [
        () => comments.page(20, 1_000_000, 1),
        'SEARCH comments USING INDEX comments_of_note (note_id=? AND rowid>?)',
      ],
    ] as const) {
      const plan = await planOf(heard, call);
      const routine = plan.find(({ detail }) => detail === 'CO-ROUTINE comments');
      const steps = plan.filter(({ parent }) => parent === routine?.id).map(({ detail }) => detail);
      assert.deepEqual(
        steps.filter((step) => !step.startsWith('SCALAR SUBQUERY')),
        [source],
      );
      assert.ok(!plan.some(({ detail }) => detail.startsWith('SCAN comment_blocks')));
    }
  });
}
