// The tests of lists with orders, keys and filters, for any engine: pages are compared with plain
// queries, and the plans of the statements are checked.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PAGE_BATCH_LIMITS } from '../../src/lists/pages.ts';
import type { PageRequest } from '../../src/lists/request.ts';
import { notes } from '../../src/resources/notes.ts';
import { tags } from '../../src/resources/tags.ts';
import { createWriter } from '../../src/storage/writer.ts';
import { overhear, withNumbers } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import type { Engine } from '../support/engines.ts';
import { planOf, stepsBelow } from '../support/plans.ts';
import { tableOf } from '../support/tables.ts';

/** Tag 1 is on most notes, tag 2 on every 40th, tag 3 on the first note only, tag 4 on none. */
const NOTES = 4_000;

async function startLists(test: Ends, engine: Engine) {
  const database = await engine.open(test);
  const heard = overhear(database);
  const write = createWriter(heard.database);
  await database.transact('fill', [
    {
      sql: `${withNumbers(NOTES)} INSERT INTO notes (title, body, number)
            SELECT 'note ' || n, 'b', n * 7 % 4001 FROM numbers`,
    },
    {
      sql: `INSERT INTO tags (name, number)
            VALUES ('a', 5001), ('b', 5002), ('c', 5003), ('d', 5004)`,
    },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) SELECT id, 1 FROM notes WHERE id % 5 > 0' },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) SELECT id, 2 FROM notes WHERE id % 40 = 0' },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) VALUES (1, 3)' },
    // A block without notes, and notes without a tag.
    { sql: 'DELETE FROM notes WHERE id BETWEEN 1000 AND 2100 OR id % 211 = 0' },
  ]);
  const [notesTable, tagsTable] = [notes, tags].map((each) => tableOf(each, heard.database, write));
  assert.ok(notesTable && tagsTable);
  const idsOf = async (request: PageRequest) => {
    const page = await notesTable.page(request);
    assert.ok(page);
    const ids: number[] = JSON.parse(`[${page.items}]`).map(({ id }: { id: number }) => id);
    return { ids, total: page.total };
  };
  const all = await database.read({ sql: 'SELECT id, number FROM notes' });
  const keys = all.map((row) => ({ id: Number(row.id), number: Number(row.number) }));
  const links = await database.read({ sql: 'SELECT note_id, tag_id FROM note_tags' });
  const tagged = (tag: number) =>
    new Set(links.filter((row) => row.tag_id === tag).map((row) => Number(row.note_id)));
  return { heard, notes: notesTable, tags: tagsTable, idsOf, keys, tagged };
}

/** Registers the tests of lists on `engine`. Those that only read share a database. */
export function testLists(engine: Engine): void {
  const releases: (() => void)[] = [];
  after(async () => {
    for (const release of releases) await release();
  });
  let shared: ReturnType<typeof startLists> | undefined;
  const sharedLists = () => {
    shared ??= startLists({ after: (release) => releases.push(release) }, engine);
    return shared;
  };

  test('lists: deep pages in both orders, with and without a tag', async () => {
    const { idsOf, keys, tagged } = await sharedLists();
    for (const tag of [undefined, 1, 2, 3, 4]) {
      const has = tag && tagged(tag);
      const rising = keys.map(({ id }) => id).filter((id) => !has || has.has(id));
      for (const order of ['id', '-id'] as const) {
        const sorted = rising.toSorted((one, other) =>
          order === 'id' ? one - other : other - one,
        );
        const offsets = [0, 1, 2_047, 2_048, 2_049, 2_200, 2_300, sorted.length - 1, sorted.length];
        for (const offset of [...offsets, 2_000_000]) {
          if (offset < 0) continue;
          const filters = tag ? { filters: { tagged: tag } } : {};
          assert.deepEqual(
            await idsOf({ limit: 3, offset, order, ...filters }),
            { ids: sorted.slice(offset, offset + 3), total: sorted.length },
            `${tag} ${order} ${offset}`,
          );
        }
      }
    }
  });

  test('lists: few tagged notes are sorted, many are picked; the pages are equal', async () => {
    const { idsOf, keys, tagged } = await sharedLists();
    for (const tag of [1, 2, 3, 4]) {
      const has = tagged(tag);
      for (const order of ['updated', '-updated'] as const) {
        const sign = order === 'updated' ? 1 : -1;
        const sorted = keys
          .filter(({ id }) => has.has(id))
          .sort((one, other) => sign * (one.number - other.number));
        // With tag 2, records are sorted for the larger limit only.
        for (const limit of [1, 100]) {
          for (const key of [-1, 0, 17, 2_000, 4_000, 9_000]) {
            const request = { limit, order, filters: { tagged: tag } };
            const follows = sorted.filter(({ number }) => sign * (number - key) > 0);
            const precedes = sorted.filter(({ number }) => sign * (number - key) < 0);
            const total = sorted.length;
            const idsIn = (page: typeof sorted) => page.map(({ id }) => id);
            assert.deepEqual(
              await idsOf({ ...request, after: key }),
              { ids: idsIn(follows.slice(0, limit)), total },
              `${tag} ${order} after ${key}`,
            );
            assert.deepEqual(
              await idsOf({ ...request, before: key }),
              { ids: idsIn(precedes.slice(-limit)), total },
              `${tag} ${order} before ${key}`,
            );
            const offset = Math.abs(key);
            assert.deepEqual(
              await idsOf({ ...request, offset }),
              { ids: idsIn(sorted.slice(offset, offset + limit)), total },
              `${tag} ${order} offset ${offset}`,
            );
          }
        }
      }
    }
  });

  test('lists: pages are read from the index of their order', async () => {
    const { heard, notes: table } = await sharedLists();
    const record = 'SEARCH notes USING INTEGER PRIMARY KEY (rowid=?)';
    const ofTag = (key = '') => [
      `SEARCH note_tags USING COVERING INDEX notes_of_tag (tag_id=?${key})`,
      record,
    ];
    const changes = (key: string) => `SEARCH notes USING INDEX notes_by_number (number${key}?)`;
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
        [...ofTag(), sort, changes('>')],
      ],
      [{ limit: 5, filters: { named: true } }, ['SCAN note_names', record]],
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
          'SCAN notes USING INDEX notes_by_number',
        ],
      ],
    ];
    for (const [request, expected] of sources) {
      const plan = await planOf(heard, () => table.page(request));
      const routine = plan.find(({ detail }) => detail === 'CO-ROUTINE notes');
      assert.ok(routine);
      const inside = stepsBelow(plan, routine.id).filter((step) =>
        /^(?:SCAN|SEARCH) note(?:s|_tags|_names)\b|^USE TEMP/.test(step),
      );
      assert.deepEqual(inside, expected, JSON.stringify(request));
      const details = plan.map(({ detail }) => detail);
      const walks = details.filter((step) => /^SCAN note_tag/.test(step));
      assert.deepEqual(walks, [], JSON.stringify(request));
    }
  });

  test('lists: pages whose time grows with the data do not delay others', async () => {
    const { heard, notes: table } = await sharedLists();
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
      { filters: { untagged: true } },
      { filters: { named: true } },
      { filters: { match: '"note"' } },
      { filters: { updated: { after: 0, before: 9 } } },
    ] as const)
      assert.deepEqual(await isSlow(request), [true], JSON.stringify(request));
  });

  test('lists: tags of a note and counts of notes are looked up', async () => {
    const { heard, notes: noteTable, tags: tagTable } = await sharedLists();
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

  test('lists: names of tags are looked up once, not for each note', async () => {
    const { heard, notes: table } = await sharedLists();
    const plan = await planOf(heard, () =>
      table.page({ limit: 5, filters: { taggedWithAll: ['tag 1', 'tag 2', 3] } }),
    );
    const details = plan.map(({ detail }) => detail);
    const lookUps = details.filter((step) => /^(?:SCAN|SEARCH) tags\b/.test(step));
    const lookUp = 'SEARCH tags USING COVERING INDEX tags_by_name (name=?)';
    assert.deepEqual(new Set(lookUps), new Set([lookUp]));
    const times = details.filter((step) => step === 'MATERIALIZE wanted').length;
    assert.equal(times, lookUps.length);
  });

  test('lists: fields that records leave out are not read', async () => {
    const { heard, notes: table } = await sharedLists();
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
    const page = () => table.page({ limit: 100, after: NOTES });
    await page();
    heard.reads.length = 0;
    await Promise.all([page(), page(), page()]);
    assert.equal(heard.reads.length, 3);
  });
}
