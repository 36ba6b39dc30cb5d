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

  /**
   * Fills notes and comments with thousands of records, with gaps: single ids, whole blocks, and at
   * both ends.
   */
  async function fill(database: Database): Promise<void> {
    const statements = [
      `${withNumbers(9_000)} INSERT INTO notes (id, title, body, number)
       SELECT n, 't' || n, 'b', n FROM numbers`,
      `INSERT INTO comments (id, note_id, body, number)
       SELECT id, 5 + (id % 3 = 0), title, 9000 + id FROM notes`,
      ...['notes', 'comments'].flatMap((table) => [
        `DELETE FROM ${table} WHERE id % 7 = 3 OR id BETWEEN 2048 AND 4200 OR id > 8990`,
        `DELETE FROM ${table} WHERE id < 4`,
      ]),
    ];
    await database.transact(
      'fill',
      statements.map((sql) => ({ sql })),
    );
  }

  const PAGED = [
    { name: 'notes', owner: undefined, where: 'TRUE' },
    { name: 'comments', owner: 5, where: 'note_id = 5' },
    { name: 'comments', owner: 6, where: 'note_id = 6' },
  ] as const;

  test('pages: the right records at every depth, with gaps in the ids', async (t) => {
    const { database, ...tables } = await startTables(t, engine);
    await fill(database);
    for (const { name, owner, where } of PAGED) {
      const stored = await rows(database, `SELECT id FROM ${name} WHERE ${where} ORDER BY id`);
      const ids = stored.map(({ id }) => Number(id));
      const { length } = ids;
      const offsets = [
        ...[0, 1, 1_023, 1_024, 2_047, 2_048, 2_049, Math.max(0, length - 21), length - 1, length],
        ...[length + 1, 2 ** 53 - 1],
      ];
      for (let offset = 1_900; offset < length; offset += 517) offsets.push(offset);
      const wanted = [1, 20, 100].flatMap((limit) =>
        offsets.map((offset) => [limit, offset] as const),
      );
      const pages = await Promise.all(
        wanted.map(([limit, offset]) => parsedPage(tables[name], limit, offset, owner)),
      );
      for (const [place, [limit, offset]] of wanted.entries()) {
        const { items, total } = pages[place] ?? assert.fail();
        const found = items.map(({ id }: { id: number }) => id);
        assert.deepEqual(
          [found, total],
          [ids.slice(offset, offset + limit), length],
          `${name} of ${owner}: ${limit} from ${offset}`,
        );
      }
    }
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

  test('pages: read together, the same as one by one', async (t) => {
    const { database, notes, comments, heard } = await startTables(t, engine);
    await database.transact('fill', [
      {
        sql: `${withNumbers(3_000)} INSERT INTO notes (title, body, number)
              SELECT 'note ' || n, 'line' || char(10) || 'feed', n FROM numbers`,
      },
      {
        sql: `${withNumbers(2_500)} INSERT INTO comments (body, note_id, number)
              SELECT 'comment ' || n, 2 - n % 2, 3000 + n FROM numbers`,
      },
      { sql: 'DELETE FROM notes WHERE id BETWEEN 100 AND 2899 AND id % 7 = 2' },
    ]);
    const wanted = [
      [notes, 20, 0],
      [notes, 20, 0],
      [notes, 100, 2_590],
      [notes, 1, DEEP_OFFSET - 1],
      [notes, 1, DEEP_OFFSET],
      [notes, 3, 1_000_000],
      [comments, 20, 0, 1],
      [comments, 20, 0, 2],
      [comments, 20, 0, 3],
      [comments, 20, 0, 4_000],
      [comments, 7, 1_240, 2],
      [comments, 7, DEEP_OFFSET, 2],
      [comments, 7, DEEP_OFFSET, 4_000],
    ] as const;
    const alone: unknown[] = [];
    for (const [table, limit, offset, owner] of wanted)
      alone.push(await parsedPage(table, limit, offset, owner));
    heard.reads.length = 0;
    const together = wanted.map(([table, limit, offset, owner]) =>
      parsedPage(table, limit, offset, owner),
    );
    assert.deepEqual(await Promise.all(together), alone);
    // Each table has one statement for near pages and one for deep ones.
    assert.equal(heard.reads.length, 2 * 2);
    assert.equal(alone.filter((page) => page === undefined).length, 2);
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

  test('pages: read from an index, deep ones from their block on', async (t) => {
    const { heard, notes, comments } = await startTables(t, engine);
    await notes.create(['a', 'b']);
    const deep = 1_000_000;
    for (const [call, source] of [
      [() => notes.page(20, 0), 'SCAN notes'],
      [() => notes.page(20, deep), 'SEARCH notes USING INTEGER PRIMARY KEY (rowid>?)'],
      [() => comments.page(20, 0, 1), 'SEARCH comments USING INDEX comments_of_note (note_id=?)'],
      [
        () => comments.page(20, deep, 1),
        'SEARCH comments USING INDEX comments_of_note (note_id=? AND rowid>?)',
      ],
    ] as const) {
      const plan = await planOf(heard, call);
      const routine = plan.find(({ detail }) => /^CO-ROUTINE (notes|comments)$/.test(detail));
      const steps = plan.filter(({ parent }) => parent === routine?.id).map(({ detail }) => detail);
      assert.deepEqual(
        steps.filter((step) => !step.startsWith('SCALAR SUBQUERY')),
        [source],
      );
      const walksBlocksOfAll = plan.some(({ detail }) => detail.startsWith('SCAN comment_blocks'));
      assert.equal(walksBlocksOfAll, false);
    }
  });
}
