// The tests of the statements of lists, for any engine: their plans, and what else they cost.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { PAGE_BATCH_LIMITS } from '../../src/lists/pages.ts';
import type { PageRequest } from '../../src/lists/request.ts';
import { overhear } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { planOf, stepsBelow } from '../support/plans.ts';
import { tablesOf } from '../support/tables.ts';

async function startLists(test: TestContext, engine: Engine) {
  const heard = overhear(await engine.open(test));
  return { heard, ...tablesOf(heard.database) };
}

/** Registers the tests of lists on `engine`. */
export function testLists(engine: Engine): void {
  test('lists: pages are read from the index of their order', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    const record = 'SEARCH notes USING INTEGER PRIMARY KEY (rowid=?)';
    const ofTag = (key = '') => [
      `SEARCH note_tags USING COVERING INDEX notes_of_tag (tag_id=?${key})`,
      record,
    ];
    const changes = (key: string) => `SEARCH notes USING INDEX notes_by_number (number${key}?)`;
    const blocks = (first: string) => [
      first,
      'SEARCH notes USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ];
    const folder = { from: 'f/', to: 'f0' };
    const byName = (range: string) => {
      const index = `COVERING INDEX sqlite_autoindex_note_names_1${range}`;
      return `${range ? 'SEARCH' : 'SCAN'} note_names USING ${index}`;
    };
    const sort = 'USE TEMP B-TREE FOR ORDER BY';
    const sources: readonly (readonly [PageRequest, readonly string[]])[] = [
      [{ limit: 5, order: 'updated' }, ['SCAN notes USING INDEX notes_by_number']],
      [{ limit: 5, order: '-updated', after: 9 }, [changes('<')]],
      [{ limit: 5, order: '-updated', before: 9 }, [changes('>')]],
      [
        { limit: 5, order: '-id', offset: 3_000 },
        ['SEARCH notes USING INTEGER PRIMARY KEY (rowid<?)'],
      ],
      [{ limit: 5, before: 9 }, ['SEARCH notes USING INTEGER PRIMARY KEY (rowid<?)']],
      [{ limit: 5, filters: { tagged: 1 } }, ofTag()],
      [{ limit: 5, filters: { tagged: 1 }, offset: 3_000 }, ofTag(' AND note_id>?')],
      [{ limit: 5, order: '-id', filters: { tagged: 1 }, offset: 3_000 }, ofTag(' AND note_id<?')],
      [{ limit: 5, filters: { tagged: 1 }, before: 50 }, ofTag(' AND note_id<?')],
      [{ limit: 5, filters: { taggedWithAll: [1, 2] }, after: 50 }, ofTag(' AND note_id>?')],
      [
        { limit: 5, order: 'updated', filters: { tagged: 1 }, after: 9 },
        [...ofTag(), sort, record, changes('>')],
      ],
      [{ limit: 5, filters: { notTagged: 1 } }, blocks('SCAN note_blocks')],
      [
        { limit: 5, order: '-id', filters: { notTagged: 'tag 1' }, before: 9 },
        blocks('SEARCH note_blocks USING INTEGER PRIMARY KEY (rowid>?)'),
      ],
      [
        { limit: 5, filters: { notTagged: 1 }, offset: 3_000 },
        blocks('SEARCH note_blocks USING INTEGER PRIMARY KEY (rowid>?)'),
      ],
      [{ limit: 5, filters: { tagged: 1, notTagged: 2 }, after: 50 }, ofTag(' AND note_id>?')],
      [{ limit: 5, filters: { named: true } }, ['SCAN note_names', record]],
      [{ limit: 5, filters: { named: true }, offset: 3_000 }, ['SCAN note_names', record]],
      [{ limit: 5, order: 'name', filters: { named: true } }, [byName(''), record]],
      [
        { limit: 5, order: '-name', filters: { named: true }, after: 'n5' },
        [byName(' (name<?)'), record],
      ],
      [
        { limit: 5, order: 'name', filters: { folder }, before: 'f/a' },
        [byName(' (name>? AND name<?)'), record],
      ],
      // What is not found in order is sorted by ids alone.
      [{ limit: 5, filters: { folder } }, [byName(' (name>? AND name<?)'), sort, record]],
      [
        { limit: 5, order: '-updated', filters: { folder } },
        [
          byName(' (name>? AND name<?)'),
          ...[record, sort, record, 'SCAN notes USING INDEX notes_by_number'],
        ],
      ],
      [
        { limit: 5, order: 'name', filters: { tagged: 1, named: true } },
        [...ofTag().slice(0, 1), sort, record, byName(''), record],
      ],
      [
        { limit: 5, order: '-id', filters: { named: true }, before: 9 },
        ['SEARCH note_names USING INTEGER PRIMARY KEY (rowid>?)', record],
      ],
      [
        { limit: 5, order: 'updated', filters: { named: true } },
        [
          'SCAN note_names USING COVERING INDEX sqlite_autoindex_note_names_1',
          record,
          sort,
          record,
          'SCAN notes USING INDEX notes_by_number',
        ],
      ],
    ];
    for (const [request, expected] of sources) {
      const plan = await planOf(heard, () => table.page(request));
      const routine = plan.find(({ detail }) => detail === 'CO-ROUTINE notes');
      assert.ok(routine);
      const inside = stepsBelow(plan, routine.id).filter((step) =>
        /^(?:SCAN|SEARCH) note(?:s|_tags|_names|_blocks)\b|^USE TEMP/.test(step),
      );
      assert.deepEqual(inside, expected, JSON.stringify(request));
      const details = plan.map(({ detail }) => detail);
      const walks = details.filter((step) => /^SCAN note_tag/.test(step));
      assert.deepEqual(walks, [], JSON.stringify(request));
    }
  });

  test('lists: an offset among names skips ids, not notes', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    const page = () => table.page({ limit: 5, filters: { named: true }, offset: 3_000 });
    const plan = await planOf(heard, page);
    const routines = plan.filter(({ detail }) => detail.startsWith('CO-ROUTINE'));
    const steps = routines.map(({ id }) => stepsBelow(plan, id).join());
    assert.ok(steps.includes('SCAN note_names'), steps.join('\n'));
  });

  test('lists: pages whose time grows with the data do not delay others', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    const isSlow = async (request: Omit<PageRequest, 'limit'>) => {
      heard.reads.length = 0;
      await table.page({ limit: 5, ...request });
      return [...new Set(heard.reads.map((each) => each.isSlow))];
    };
    assert.deepEqual(await isSlow({ order: '-id', filters: { tagged: 1 } }), [false]);
    assert.deepEqual(await isSlow({ order: 'updated' }), [false]);
    for (const request of [
      // The notes with a tag may be the last ones in this order.
      { order: 'updated', filters: { tagged: 1 } },
      { filters: { taggedWithAll: [1, 2] } },
      // The tag may be on nearly all notes of each block.
      { filters: { notTagged: 1 } },
      { filters: { tagged: 1, notTagged: 2 } },
      { filters: { taggedWithNone: [1, 2] } },
      { filters: { untagged: true } },
      { filters: { named: true } },
      { order: 'name', filters: { named: true } },
      { filters: { folder: { from: 'f/', to: 'f0' } } },
      { filters: { match: '"note"' } },
      { filters: { updated: { after: 0, before: 9 } } },
    ] as const)
      assert.deepEqual(await isSlow(request), [true], JSON.stringify(request));
  });

  test('lists: tags of a note and counts of notes are looked up', async (t) => {
    const { heard, notes: noteTable, tags: tagTable } = await startLists(t, engine);
    for (const call of [
      () => noteTable.page({ limit: 5, include: ['tag_ids', 'tags'] }),
      () => noteTable.page({ limit: 5, filters: { tagged: 'tag 1' } }),
      () => tagTable.page({ limit: 5, include: ['notes_count'] }),
      () => tagTable.page({ limit: 5, owner: 40, isOfCounterpart: true, filters: { onNote: 40 } }),
      () => noteTable.page({ limit: 1, id: 40, include: ['tag_ids', 'times'] }),
    ]) {
      const details = (await planOf(heard, call)).map(({ detail }) => detail);
      assert.ok(
        details.some((step) => /^SEARCH note_tag(?:s|_blocks)\b/.test(step)),
        `${details}`,
      );
      assert.ok(!details.some((step) => /^SCAN note_tag/.test(step)), `${details}`);
    }
  });

  test('lists: names of tags are looked up once, not for each note', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    const plan = await planOf(heard, () =>
      table.page({ limit: 5, filters: { taggedWithAll: ['tag 1', 'tag 2', 3] } }),
    );
    const details = plan.map(({ detail }) => detail);
    const lookUps = details.filter((step) => /^(?:SCAN|SEARCH) tags\b/.test(step));
    const byName = 'SEARCH tags USING COVERING INDEX tags_by_name (name=?)';
    const byId = 'SEARCH tags USING INTEGER PRIMARY KEY (rowid=?)';
    assert.deepEqual(new Set(lookUps), new Set([byName, byId]));
    const times = details.filter((step) => step === 'MATERIALIZE wanted').length;
    for (const lookUp of [byName, byId])
      assert.equal(lookUps.filter((step) => step === lookUp).length, times);
  });

  test('lists: fields that records leave out are not read', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    const columns = async (request: Partial<PageRequest>) => {
      heard.reads.length = 0;
      await table.page({ limit: 5, ...request });
      return new Set(heard.reads[0]?.sql.match(/\bnotes\.(?!id\b|number\b)\w+/g));
    };
    assert.deepEqual(await columns({ fields: ['id'] }), new Set());
    const order = '-updated';
    const filters = { tagged: 1 };
    for (const request of [
      {},
      { order },
      { order, filters },
      { id: 7 },
      { offset: 3_000 },
    ] as const)
      assert.deepEqual(await columns({ ...request, fields: ['title'] }), new Set(['notes.title']));
  });

  test('lists: a short page at a key tells how long its records are', async (t) => {
    const { heard, notes: table } = await startLists(t, engine);
    await table.create([['long', 'b'.repeat(PAGE_BATCH_LIMITS.characters / 2)]]);
    const page = () => table.page({ limit: 100, after: 0 });
    await page();
    heard.reads.length = 0;
    await Promise.all([page(), page(), page()]);
    assert.equal(heard.reads.length, 3);
  });
}
