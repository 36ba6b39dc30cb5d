// The tests of pages with filters, for any engine: they are compared with a plain filter. The notes
// fill blocks of ids and numbers: the bounds of some exclude a range, others are partly in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SORT_LIMITS } from '../../src/lists/list.ts';
import type { PageRequest } from '../../src/lists/request.ts';
import { notes } from '../../src/resources/notes.ts';
import type { Row } from '../../src/storage/database.ts';
import { overhear, rows, withNumbers } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import type { Engine } from '../support/engines.ts';
import { setLimits } from '../support/overload.ts';
import { planOf, stepsBelow } from '../support/plans.ts';
import { tableOf } from '../support/tables.ts';

type Range = readonly [from: number, to: number];

interface Filters {
  readonly created?: Range;
  readonly updated?: Range;
  readonly tagged?: readonly number[];
  readonly notTagged?: readonly number[];
  readonly untagged?: true;
  readonly isNamed?: boolean;
  readonly isInFolder?: true;
}

const SORT = 'USE TEMP B-TREE FOR ORDER BY';

const ORDERS = ['id', '-id', 'updated', '-updated', 'name', '-name'] as const;

/** Times rise with the keys, but the clock was set back once. */
const timeSql = (key: string) =>
  `(10 * (${key}) + ${key} % 13 - iif(${key} BETWEEN 3100 AND 3200, 9000, 0))`;

/** Some records that another program has changed have no times. */
const FORGET_TIMES = `UPDATE notes SET created_at = NULL, updated_at = NULL
  WHERE number % 97 = 0 AND number < 2000`;

const FILTERS: readonly Filters[] = [
  {},
  // Tag 1 is on most notes, tag 3 on the first one, tag 4 on none.
  ...[1, 2, 3, 4].map((tag) => ({ tagged: [tag] })),
  { created: [9_000, 30_000] },
  { created: [-1, 5_000] },
  // The first time of a block, and the last one of another.
  { created: [40_961, 1e9] },
  { created: [-1, 30_713] },
  { created: [32_000, 31_000] },
  { updated: [9_000, 30_000] },
  { updated: [50_000, 1e9] },
  { updated: [40_961, 1e9] },
  { updated: [-1, 30_713] },
  { updated: [1e9, 2e9] },
  { updated: [-1, 49_000], created: [5_000, 1e9] },
  { updated: [51_000, 1e9], created: [-1, 6_000] },
  { updated: [20_000, 1e9], created: [20_000, 21_000] },
  { updated: [22_000, 26_000], untagged: true },
  ...[1, 2, 3, 4].map((tag) => ({ notTagged: [tag] })),
  { notTagged: [1, 2] },
  { tagged: [1], notTagged: [2] },
  { tagged: [2], notTagged: [1, 3] },
  { notTagged: [1], isNamed: true },
  { notTagged: [1], untagged: true },
  { notTagged: [1], created: [22_000, 26_000] },
  { notTagged: [2], created: [9_000, 30_000] },
  { notTagged: [1], updated: [20_000, 1e9] },
  { notTagged: [1], updated: [20_000, 1e9], created: [20_000, 21_000] },
  { tagged: [1], notTagged: [2], created: [9_000, 30_000] },
  { isInFolder: true },
  { isInFolder: true, tagged: [1] },
  { isInFolder: true, tagged: [3] },
  { isInFolder: true, notTagged: [1] },
  { isInFolder: true, updated: [20_000, 1e9], tagged: [1] },
  { isInFolder: true, created: [40_961, 1e9] },
  { isNamed: true },
  { isNamed: false },
  { updated: [20_000, 1e9], isNamed: true },
  { created: [20_000, 1e9], isNamed: false },
  { tagged: [1], isNamed: true },
  { created: [22_000, 26_000], tagged: [1] },
  // The times exclude more than tag 1 does, but less than tag 2.
  { created: [40_961, 1e9], tagged: [1] },
  { created: [40_961, 1e9], tagged: [2] },
  { updated: [51_000, 1e9], tagged: [1, 2] },
  { updated: [51_000, 1e9], created: [-1, 6_000], tagged: [1] },
];

const HAS_TAG: Readonly<Record<number, (id: number) => boolean>> = {
  1: (id) => id % 3 > 0,
  2: (id) => id % 100 === 1,
  3: (id) => id === 1,
};

const hasName = (id: number) => id % 50 === 8;
const nameOf = (id: number) => `${id % 100 === 8 ? 'f/' : 'n'}${9_000 - id}`;

const POSITIONS: readonly Partial<PageRequest>[] = [
  ...[0, 2_047, 2_048, 2_900, 2_000_000].map((offset) => ({ offset })),
  ...[0, 1_500, 5_300, 9_000].flatMap((key) => [{ after: key }, { before: key }]),
];

const NAME_POSITIONS: readonly Partial<PageRequest>[] = [
  ...[0, 50, 2_048].map((offset) => ({ offset })),
  ...['', 'f/6000', 'f/6892', 'n5', 'o'].flatMap((key) => [{ after: key }, { before: key }]),
];

async function fill(t: Ends, engine: Engine, hasUnknownTimes = true) {
  const database = await engine.open(t);
  const moved = '5100 + id * 7 % 2003';
  await database.transact([
    {
      sql: `${withNumbers(5_000)} INSERT INTO notes (title, body, number, created_at, updated_at)
            SELECT 'a', 'b', n, ${timeSql('n')}, ${timeSql('n')} FROM numbers`,
    },
    { sql: `INSERT INTO tags (name) VALUES ('a'), ('b'), ('c'), ('d')` },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) SELECT id, 1 FROM notes WHERE id % 3 > 0' },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) SELECT id, 2 FROM notes WHERE id % 100 = 1' },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) VALUES (1, 3)' },
    {
      sql: `INSERT INTO note_names (note_id, name)
            SELECT id, iif(id % 100 = 8, 'f/', 'n') || (9000 - id) FROM notes WHERE id % 50 = 8`,
    },
    // Old notes are changed, in another order than they were created.
    {
      sql: `UPDATE notes SET number = ${moved}, updated_at = ${timeSql(`(${moved})`)}
            WHERE id % 8 = 1 AND id < 2000`,
    },
    { sql: 'DELETE FROM notes WHERE id BETWEEN 1000 AND 2100 OR id % 211 = 0' },
    ...(hasUnknownTimes ? [{ sql: FORGET_TIMES }] : []),
  ]);
  const heard = overhear(database);
  return { database, heard, table: tableOf(notes, heard.database) };
}

function passes(row: Row, filters: Filters): boolean {
  const { created, updated, tagged, notTagged, untagged, isNamed, isInFolder } = filters;
  const isIn = (at: Row[string] | undefined, range: Range | undefined) =>
    !range || (typeof at === 'number' && at > range[0] && at < range[1]);
  const has = (tag: number) => HAS_TAG[tag]?.(Number(row.id)) === true;
  return (
    isIn(row.created_at, created) &&
    isIn(row.updated_at, updated) &&
    (!tagged || tagged.every(has)) &&
    !notTagged?.some(has) &&
    (!untagged || !Object.keys(HAS_TAG).some((tag) => has(Number(tag)))) &&
    (isNamed === undefined || isNamed === hasName(Number(row.id))) &&
    (!isInFolder || Number(row.id) % 100 === 8)
  );
}

/** Returns the values of the filters of a list, which has one filter for a tag, one for several. */
function valuesOf(filters: Filters) {
  const { created, updated, tagged = [], notTagged = [], untagged, isNamed } = filters;
  const folder = { from: 'f/', to: 'f0' };
  const between = ([after, before]: Range) => ({ after, before });
  return {
    ...(tagged.length > 0 &&
      (tagged.length > 1 ? { taggedWithAll: tagged } : { tagged: tagged[0] })),
    ...(notTagged.length > 0 &&
      (notTagged.length > 1 ? { taggedWithNone: notTagged } : { notTagged: notTagged[0] })),
    ...(created && { created: between(created) }),
    ...(updated && { updated: between(updated) }),
    ...(untagged && { untagged }),
    ...(filters.isInFolder && { folder }),
    ...(isNamed !== undefined && { [isNamed ? 'named' : 'unnamed']: true }),
  };
}

interface Keyed {
  readonly id: number;
  readonly key: number | string;
}

const compare = (one: number | string, other: number | string) =>
  one < other ? -1 : Number(one > other);

/** Returns the records of a page, of all that are found, in order; `sign` is -1 if keys fall. */
function pageOf(found: readonly Keyed[], sign: number, request: PageRequest) {
  const { limit, offset = 0, after, before } = request;
  if (before !== undefined)
    return found.filter(({ key }) => sign * compare(key, before) < 0).slice(-limit);
  const rest = found.filter(({ key }) => after === undefined || sign * compare(key, after) > 0);
  return rest.slice(offset, offset + limit);
}

/** Registers the tests of filters by time on `engine`, with one of `share` of all pages. */
export function testTimes(engine: Engine, share = 31): void {
  let turn = 0;
  for (const [what, hasUnknownTimes] of [
    ['pages in every order, sorted or walked, are those of a plain filter', false],
    ['pages are right if another program has stored records without times', true],
  ] as const)
    test(`times: ${what}`, async (t) => {
      const { database, heard } = await fill(t, engine, hasUnknownTimes);
      const all = await rows(database, 'SELECT id, number, created_at, updated_at FROM notes');
      const limits = { ...SORT_LIMITS };
      for (const changed of [{ id: 0, number: 0 }, limits]) {
        setLimits(t, SORT_LIMITS, changed);
        const table = tableOf(notes, heard.database);
        for (const filters of FILTERS) {
          for (const order of ORDERS) {
            const isByName = order.endsWith('name');
            const found = all.filter(
              (row) => passes(row, filters) && (!isByName || hasName(Number(row.id))),
            );
            const sign = order.startsWith('-') ? -1 : 1;
            const keyed = found
              .map(({ id, number }) => ({
                id: Number(id),
                key: isByName ? nameOf(Number(id)) : Number(order.endsWith('id') ? id : number),
              }))
              .sort((one, other) => sign * compare(one.key, other.key));
            const values = valuesOf(filters);
            if (isByName && !filters.isInFolder) Object.assign(values, { named: true });
            for (const position of isByName ? NAME_POSITIONS : POSITIONS) {
              turn += 1;
              if (turn % share > 0) continue;
              // With tag 2, records are sorted for the larger limit only.
              const limit = turn % 2 ? 3 : 100;
              const request = { limit, order, filters: values, ...position };
              const page = await table.page(request);
              const expected = pageOf(keyed, sign, request);
              const ids = JSON.parse(`[${page?.items}]`).map(({ id }: Keyed) => id);
              const message = JSON.stringify(request);
              assert.deepEqual(
                ids,
                expected.map(({ id }) => id),
                message,
              );
              assert.equal(page?.total, found.length, message);
              if (!page.keys || expected.length === 0) continue;
              const keys = expected.map(({ key }) => key);
              const isBeyond = [-1, 1].map((side) =>
                keyed.some(({ key }) => keys.every((each) => compare(key, each) === side)),
              );
              const { low, high } = page.keys;
              assert.deepEqual([low !== undefined, high !== undefined], isBeyond, message);
            }
          }
        }
      }
    });

  test('times: a walk leaves out no block that may have records of the time', async (t) => {
    setLimits(t, SORT_LIMITS, { id: 0, number: 0 });
    let database = await engine.open(t);
    const assertFirst = async (
      order: 'id' | '-id',
      updated: Range,
      expected: readonly number[],
    ) => {
      const request = { limit: 3, order, filters: valuesOf({ updated }), fields: ['id'] };
      const page = await tableOf(notes, database).page(request);
      const found = JSON.parse(`[${page?.items}]`).map(({ id }: Keyed) => id);
      assert.deepEqual(found, expected, `${order} ${updated}`);
    };
    // Blocks of ids and of numbers overlap only in part.
    const insert = `INSERT INTO notes (title, body, number, created_at, updated_at)
      SELECT 'a', 'b', n + 500, 10 * n, 10 * n FROM numbers`;
    await database.transact([{ sql: `${withNumbers(3_000)} ${insert}` }]);
    await assertFirst('id', [20_000, 1e9], [2_001, 2_002, 2_003]);
    await assertFirst('-id', [-1, 5_000], [499, 498, 497]);
    await database.transact([
      { sql: 'UPDATE notes SET number = 3501, updated_at = 35010 WHERE id = 1' },
      { sql: 'UPDATE notes SET created_at = NULL, updated_at = NULL WHERE id = 2600' },
    ]);
    await assertFirst('id', [25_000, 1e9], [1, 2_501, 2_502]);
    // Another program has stored some times in nanoseconds.
    database = await engine.open(t);
    await database.transact([
      {
        sql: `${withNumbers(5_000)} INSERT INTO notes (title, body, number, created_at, updated_at)
              SELECT 'a', 'b', n, iif(n < 2048, n, 1700000000000000000 + n), n FROM numbers`,
      },
      { sql: 'UPDATE notes SET created_at = NULL WHERE id = 3000' },
    ]);
    await assertFirst('id', [4_200, 1e9], [4_201, 4_202, 4_203]);
    await assertFirst('-id', [4_200, 1e9], [5_000, 4_999, 4_998]);
  });

  test('times: what excludes more finds the notes with tags of a time', async (t) => {
    const { database, table } = await fill(t, engine);
    const from32s: Range = [32_000, 1e9];
    const totals = async () => {
      const found = new Map<string, number | undefined>();
      for (const filter of ['created', 'updated'] as const)
        for (const order of ORDERS.slice(0, 4))
          for (const tagged of [[1], [2], [1, 2], [2, 1]]) {
            const filters = valuesOf({ [filter]: from32s, tagged });
            const page = await table.page({ limit: 3, order, filters });
            found.set(`${filter} ${order} ${tagged}`, page?.total);
          }
      return found;
    };
    const right = await totals();
    // With wrong bounds, whoever finds notes by them misses those of a block.
    await database.transact([
      { sql: 'UPDATE note_blocks SET created_from = 0, created_to = 0 WHERE block = 4' },
      { sql: 'UPDATE note_number_blocks SET updated_from = 0, updated_to = 0 WHERE block = 4' },
    ]);
    const misled = await totals();
    // Those of one tag are found in blocks of ids, those of several by the rarest one.
    for (const [key, total] of right)
      assert.equal(misled.get(key) !== total, /^created \S+ \d$/.test(key), `${key}: ${total}`);
  });

  test('times: notes with a tag are looked up by the tag, or in blocks of a time', async (t) => {
    const { heard, table } = await fill(t, engine);
    const range = 'AND note_id>? AND note_id<?';
    for (const [tagged, steps] of [
      [[1], [`SEARCH note_tags USING INDEX notes_of_tag (tag_id=? ${range})`]],
      [
        [1, 2],
        [
          'SEARCH note_tags USING INDEX notes_of_tag (tag_id=?)',
          'SEARCH notes USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
          'SEARCH each USING PRIMARY KEY (note_id=? AND tag_id=?)',
        ],
      ],
    ] as const) {
      const filters = valuesOf({ created: [5, 9], tagged });
      const plan = await planOf(heard, () => table.page({ limit: 5, order: '-id', filters }));
      const details = plan.map(({ detail }) => detail.replace(/COVERING |EXISTS /, ''));
      for (const step of ['SCAN note_blocks', ...steps])
        assert.ok(details.includes(step), `${step}: ${details.join('\n')}`);
      assert.ok(!details.some((step) => /^SCAN (?:note_tags|each)\b/.test(step)));
    }
  });

  test('times: blocks are skipped by their bounds; a few records are sorted', async (t) => {
    const { heard, table } = await fill(t, engine);
    const byId = [
      'SCAN note_blocks',
      'SEARCH notes USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ];
    const byNumber = [
      'SCAN note_number_blocks',
      'SEARCH notes USING INDEX notes_by_number (number>? AND number<?)',
    ];
    for (const [name, order, expected] of [
      ['created', '-id', byId],
      ['updated', 'updated', byNumber],
      ['created', 'updated', [...byId, SORT, ...byNumber]],
      ['updated', 'id', [...byNumber, SORT, ...byId]],
    ] as const) {
      const filters = valuesOf({ [name]: [5, 9] });
      const plan = await planOf(heard, () => table.page({ limit: 5, order, filters }));
      // Besides the sort, there is a walk in the order of the other key, which uses both bounds.
      const isApart = plan.some(({ detail }) => /^SEARCH note_\w+$/.test(detail));
      assert.equal(isApart, expected.length > 2, `${name} ${order}`);
      const routine = plan.find(({ detail }) => detail === 'CO-ROUTINE notes');
      assert.ok(routine);
      const steps = stepsBelow(plan, routine.id).filter((step) =>
        /note_|notes_by|PRIMARY KEY \(rowid>|^USE TEMP/.test(step),
      );
      assert.deepEqual(
        steps.map((step) => step.replace('COVERING ', '')),
        expected,
        `${name} ${order}`,
      );
    }
  });
}
