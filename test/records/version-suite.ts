// The tests of entity tags and of conditional writes and reads, for any engine.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isNoneOf, isOneOf, NEVER } from '../../src/records/condition.ts';
import type { Created } from '../../src/records/creation.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { change, overhear, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { expectedText } from '../support/records.ts';
import { type TestTable, tableOf, tablesOf } from '../support/tables.ts';
import { openWithTasks, STEPS, TASKS } from '../support/tasks.ts';

const OTHER_TAG = '00000000-1';

async function openTables(t: TestContext, engine: Engine) {
  const heard = overhear(await engine.open(t));
  return { ...tablesOf(heard.database), database: heard.database, heard };
}

/** Stores one record and returns its id and tag. */
async function createOne(table: TestTable, values: string[], owner?: number): Promise<Created> {
  return (await table.create([values], owner)) ?? assert.fail('the owner is missing');
}

/** Registers the tests of entity tags and conditions on `engine`. */
export function testVersions(engine: Engine): void {
  test('tags: a clock that is set back never puts a change before the creation', async (t) => {
    const { notes, database } = await openTables(t, engine);
    await createOne(notes, ['a', 'b']);
    const later = Date.now() + 86_400_000;
    await change(database, `UPDATE notes SET created_at = ${later}, updated_at = ${later + 5}`);
    const updated = async () => (await rows(database, 'SELECT updated_at FROM notes'))[0];
    for (const write of [() => notes.change(1, ['c', 'd']), () => notes.change(1, ['e', null])]) {
      await write();
      assert.deepEqual(await updated(), { updated_at: later });
    }
    // Another program has set no times.
    await change(database, 'UPDATE notes SET created_at = NULL, updated_at = NULL');
    const begun = Date.now();
    await notes.change(1, ['f', null]);
    assert.ok(Number((await updated())?.updated_at) >= begun);
  });

  test('conditions: of several writes in a batch, some are performed', async (t) => {
    const { notes, heard, database } = await openTables(t, engine);
    const created = await notes.create(Array.from({ length: 6 }, (_, index) => [`${index}`, 'b']));
    const generation = String(created?.tag).split('-')[0];
    const tagOf = (id: number) => `${generation}-${id}`;
    const before = heard.transactions.length;
    const replaced = await Promise.all([
      notes.change(1, ['x', 'x'], 0, isOneOf([tagOf(1)])),
      notes.change(2, ['x', 'x'], 0, isOneOf([tagOf(1)])),
      notes.change(3, ['x', 'x'], 0, NEVER),
      notes.change(4, ['x', 'x'], 0, isNoneOf([tagOf(1)])),
      notes.change(99, ['x', 'x']),
      notes.change(5, ['x', 'x']),
    ]);
    assert.deepEqual(
      replaced.map((tag) => tag !== undefined),
      [true, false, false, true, false, true],
    );
    const [sent] = heard.transactions.slice(before);
    assert.equal(sent?.statements.length, 1);
    const reads = await Promise.all([1, 2, 3, 4, 5, 6].map((id) => notes.read(id)));
    assert.deepEqual(
      reads.map((record) => record?.tag),
      [replaced[0]?.tag, tagOf(2), tagOf(3), replaced[3]?.tag, replaced[5]?.tag, tagOf(6)],
    );

    // Two writes with the tag that a record has now: one of them comes too late.
    const tag = tagOf(6);
    const both = ['first', 'second'].map((title) =>
      notes.change(6, [title, 'b'], 0, isOneOf([tag])),
    );
    const [first, second] = await Promise.all(both);
    assert.equal(second, undefined);
    assert.equal(first?.text, expectedText({ id: 6, title: 'first', body: 'b' }));
    assert.deepEqual(await notes.read(6), first);

    const removed = [2, 3].map((id) => notes.remove(id, 0, isOneOf([tagOf(2)])));
    assert.deepEqual(await Promise.all(removed), [true, false]);
    assert.equal((await rows(database, 'SELECT id FROM notes')).length, 5);
  });

  test('patches: null keeps a value, whatever its type', async (t) => {
    const database = await openWithTasks(t, engine);
    const write = createWriter(database);
    const tasks = tableOf(TASKS, database, write);
    const steps = tableOf(STEPS, database, write);
    await tasks.create([['null', true, 'red']]);
    await steps.create([[true, 7]], 1);
    const textOf = async (record: ReturnType<TestTable['change']>) =>
      JSON.parse((await record)?.text ?? '');
    const task = { id: 1, title: 'null', done: true, value: 'red' };
    assert.deepEqual(await textOf(tasks.change(1, [null, null, null])), task);
    assert.deepEqual(await textOf(tasks.change(1, [null, false, null])), { ...task, done: false });
    assert.deepEqual(await textOf(tasks.change(1, ['', null, '[1]'])), {
      ...{ id: 1, title: '', done: false, value: '[1]' },
    });
    assert.deepEqual(await textOf(tasks.change(1, [`"\\'\u0000`, true, '{"a":1}'])), {
      ...{ id: 1, title: `"\\'\u0000`, done: true, value: '{"a":1}' },
    });
    const step = { id: 1, task_id: 1, done: true, key: 7 };
    assert.deepEqual(await textOf(steps.change(1, [null, 0], 1)), { ...step, key: 0 });
    const largest = Number.MAX_SAFE_INTEGER;
    assert.deepEqual(await textOf(steps.change(1, [false, largest], 1)), {
      ...{ ...step, done: false, key: largest },
    });
    assert.deepEqual(await textOf(steps.change(1, [null, -largest], 1)), {
      ...{ ...step, done: false, key: -largest },
    });
    assert.equal((await steps.read(1, 1))?.text, (await steps.change(1, [null, null], 1))?.text);
    assert.equal(await steps.change(1, [null, 1], 2), undefined);
  });

  for (const offset of [0, 5_000]) {
    test(`pages: a known state is not read (offset ${offset})`, async (t) => {
      const { notes, comments, database } = await openTables(t, engine);
      await createOne(notes, ['a', 'b']);
      await createOne(comments, ['c'], 1);
      const known = (await notes.page({ limit: 1, offset }))?.tag;
      assert.ok(known);
      assert.match(known, /\.2$/);
      // Limits that SQLite rejects only when it begins to read the records.
      const unreadable = { limit: 0.5, offset, owner: 1 };
      const unchanged = { tag: known, items: undefined, revision: undefined };
      for (const table of [notes, comments]) {
        const page = (condition: string | null) => table.page({ ...unreadable, known: condition });
        for (const condition of [null, isOneOf([known]), isOneOf([OTHER_TAG, known])])
          assert.deepEqual(await page(condition), { ...unchanged, total: 0 });
        for (const condition of [NEVER, isOneOf([OTHER_TAG])])
          await assert.rejects(page(condition), /datatype mismatch/);
        assert.equal(
          (await table.page({ ...unreadable, owner: 9, known: null }))?.tag,
          table === notes ? known : undefined,
        );
      }
      // Nor are the counts, whose sum is beyond the integers.
      const counts = `(7, ${2n ** 63n - 1n}), (8, ${2n ** 63n - 1n})`;
      await change(database, `INSERT INTO note_blocks (block, count) VALUES ${counts}`);
      const page: TestTable['page'] = (request) => notes.page(request);
      assert.equal((await page({ limit: 1, offset, known: isOneOf([known]) }))?.items, undefined);
      await assert.rejects(page({ limit: 1, offset, known: NEVER }), /integer overflow/);
      await change(database, 'DELETE FROM note_blocks WHERE block > 6');

      // Every change in the database gives every list another tag.
      const tag = (await comments.change(1, ['d'], 1))?.tag;
      const [changed, last] = await Promise.all([
        page({ limit: 1, offset, known: isOneOf([known]) }),
        page({ limit: 1, offset, known: isOneOf([String(tag?.replace('-', '.'))]) }),
      ]);
      assert.deepEqual([changed?.tag, changed?.total], [tag?.replace('-', '.'), 1]);
      assert.deepEqual(last, { ...unchanged, tag: changed?.tag, total: 0 });
      assert.equal(changed?.items, offset ? '' : expectedText({ id: 1, title: 'a', body: 'b' }));
    });
  }
}
