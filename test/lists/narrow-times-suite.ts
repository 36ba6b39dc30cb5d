// The tests of notes with a frequent tag and a narrow time, for any engine: which query finds them,
// and how many notes it visits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PageRequest } from '../../src/lists/request.ts';
import { notes } from '../../src/resources/notes.ts';
import { type Overheard, overhear, withNumbers } from '../support/databases.ts';
import type { Ends } from '../support/engine.ts';
import type { Engine } from '../support/engines.ts';
import { planOf } from '../support/plans.ts';
import { tableOf } from '../support/tables.ts';

/** Every second one has tag 1; each was created and changed at its id. */
const NOTES = 60_000;

const NARROW = { after: 30_000, before: 30_201 };
const WIDE = { after: 0, before: NOTES };

async function fill(t: Ends, engine: Engine): Promise<Overheard> {
  const database = await engine.open(t);
  await database.transact([
    {
      sql: `${withNumbers(NOTES)} INSERT INTO notes (title, body, number, created_at, updated_at)
            SELECT 'a', 'b', n, n, n FROM numbers`,
    },
    { sql: "INSERT INTO tags (name) VALUES ('a')" },
    { sql: 'INSERT INTO note_tags (note_id, tag_id) SELECT id, 1 FROM notes WHERE id % 2 = 0' },
  ]);
  return overhear(database);
}

/** Resolves with a page, and with the plan of the query that the list has chosen for it. */
async function read(heard: Overheard, request: PageRequest) {
  const page = await tableOf(notes, heard.database).page(request);
  const { sql = '', parameter = '' } = heard.reads.at(-1) ?? {};
  const named = sql.slice(0, sql.indexOf(')\nSELECT') + 1);
  const ask = (rest: string) => heard.database.read({ sql: `${named} ${rest}`, parameter });
  const hasChoice = named.includes('choice_0');
  const [choice] = hasChoice ? await ask('SELECT query FROM choice_0') : [{ query: 'listed_0' }];
  const steps = await planOf(heard, () => ask(`SELECT * FROM ${choice?.query}`));
  return { page, plan: steps.map(({ detail }) => detail.replace('COVERING ', '')).join('\n') };
}

const IN_BLOCKS = [
  'SCAN note_blocks',
  'SEARCH note_tags USING INDEX notes_of_tag (tag_id=? AND note_id>? AND note_id<?)',
];
const BY_NUMBER = [
  'SCAN note_number_blocks',
  'SEARCH notes USING INDEX notes_by_number (number>? AND number<?)',
];
const ORDERS = ['id', '-id', 'updated', '-updated'] as const;

/** Registers the tests of frequent tags and times on `engine`. */
export function testNarrowTimes(engine: Engine): void {
  test('lists: of 30,000 notes with a tag, those of a time are read in its blocks', async (t) => {
    const heard = await fill(t, engine);
    for (const [range, total] of [
      [NARROW, 100],
      [WIDE, NOTES / 2 - 1],
    ] as const)
      for (const time of ['created', 'updated'] as const)
        for (const order of ORDERS) {
          const request = { limit: 3, order, filters: { tagged: 1, [time]: range } };
          const { page, plan } = await read(heard, request);
          const what = `${time}, ${order}, ${total}:\n${plan}`;
          assert.equal(page?.total, total, what);
          // Of many, some are soon found in the order of changes.
          const isWalk = range === WIDE && order.endsWith('updated');
          for (const step of isWalk ? ['SCAN notes USING INDEX notes_by_number'] : IN_BLOCKS)
            assert.ok(plan.includes(step), `${step} of ${what}`);
        }
  });

  test('lists: few changes of notes everywhere are found by their numbers', async (t) => {
    const heard = await fill(t, engine);
    const sql = `
      UPDATE notes SET number = ${NOTES} + id / 1200, updated_at = ${NOTES} + id / 1200
      WHERE id % 1200 = 0`;
    await heard.database.transact([{ sql }]);
    for (const order of ORDERS) {
      const filters = { tagged: 1, updated: { after: NOTES, before: 1e9 } };
      const { page, plan } = await read(heard, { limit: 3, order, filters });
      assert.equal(page?.total, 50, plan);
      for (const step of BY_NUMBER) assert.ok(plan.includes(step), `${step} of ${order}:\n${plan}`);
    }
  });
}
