// The tests of creations of several records and of creations with a key, for any engine.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Database } from '../../src/storage/database.ts';
import type { Values } from '../../src/storage/writer.ts';
import { change, overhear, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { type Once, type TestTable, tablesOf } from '../support/tables.ts';

const DAY_MS = 86_400_000;
const KEPT_KEYS = 100_000;

const once = (key: string, fingerprint = 'f'): Once => ({ key, fingerprint });

async function openTables(t: TestContext, engine: Engine) {
  const heard = overhear(await engine.open(t));
  return { ...tablesOf(heard.database), database: heard.database, heard };
}

/** Returns what a table holds in the order of its ids: the values of an SQL expression. */
async function stored(database: Database, table: string, sql: string): Promise<string> {
  const found = await rows(database, `SELECT ${sql} AS text FROM ${table} ORDER BY id`);
  return found.map(({ text }) => text).join();
}

/** Registers the tests of creations on `engine`. */
export function testCreations(engine: Engine): void {
  test('creations: several records get consecutive ids and numbers', async (t) => {
    const { notes, comments, database, heard } = await openTables(t, engine);
    const note = (title: string): Values => [title, 'b'];
    const before = heard.transactions.length;
    const created = await Promise.all([
      notes.create([note('a')]),
      notes.create([note('b'), note('c'), note('d')]),
      notes.create([note('e'), note('f')]),
    ]);
    assert.equal(created.map((each) => each?.id).join(), '1,2,5');
    assert.equal(heard.transactions.length, before + 1);
    assert.equal(await stored(database, 'notes', 'id || title'), '1a,2b,3c,4d,5e,6f');
    for (const each of created) assert.equal((await notes.read(each?.id ?? 0))?.tag, each?.tag);

    const owned = await Promise.all([
      comments.create([['a'], ['b']], 99),
      comments.create([['c'], ['d']], 2),
      comments.create([['e']], 98),
      comments.create([['f'], ['g'], ['h']], 1),
      comments.create([['i'], ['j']], 99),
    ]);
    const [none, two, nobody, three, again] = owned;
    assert.deepEqual([none, nobody, again], [undefined, undefined, undefined]);
    assert.equal((await comments.read(two?.id ?? 0, 2))?.tag, two?.tag);
    assert.equal((await comments.read(three?.id ?? 0, 1))?.tag, three?.tag);
    // Each with its place after the first of its request.
    const place = `id - min(id) OVER (PARTITION BY note_id)`;
    const bodies = await stored(database, 'comments', `note_id || body || (${place})`);
    assert.equal(bodies, '2c0,2d1,1f0,1g1,1h2');
  });

  test('creations: one without its owner takes no id from others', async (t) => {
    const { notes, comments } = await openTables(t, engine);
    await notes.create([['a', 'b']]);
    const created = await Promise.all([2, 1, 2, 1].map((owner) => comments.create([['c']], owner)));
    assert.deepEqual(
      created.map((each) => each?.id),
      [undefined, 1, undefined, 2],
    );
  });

  test('keys: a repetition gets the first answer, though a tag of it is gone', async (t) => {
    const { notes, tags } = await openTables(t, engine);
    await tags.create([['t']]);
    const create = () =>
      notes.createWith([['a', 'b']], { tags: [[0, 1]], once: { key: 'k', fingerprint: 'f' } });
    const first = await create();
    await tags.remove(1);
    assert.deepEqual(await create(), { ...first, isReplay: true });
  });

  test('creations: many tags fill a batch', async (t) => {
    const { notes, heard } = await openTables(t, engine);
    const tags = Array.from({ length: 5_000 }, (_, index) => [0, `t${index}`] as const);
    const before = heard.transactions.length;
    await Promise.all([1, 2, 3].map(() => notes.createWith([['a', 'b']], { tags })));
    assert.equal(heard.transactions.length - before, 3);
  });

  test('keys: nothing is recorded if the owner is missing', async (t) => {
    const { notes, comments, database } = await openTables(t, engine);
    await notes.create([['a', 'b']]);
    const create = (key: string, owner: number, ...texts: string[]) =>
      comments.create(
        texts.map((text) => [text]),
        owner,
        once(key),
      );
    const outcomes = await Promise.all([
      create('a', 2, 'nobody', 'nothing'),
      create('b', 1, 'first', 'second'),
      create('c', 3, 'nobody'),
      create('d', 1, 'third'),
    ]);
    assert.deepEqual(
      outcomes.map((each) => each?.isReplay),
      [undefined, false, undefined, false],
    );
    assert.equal(await stored(database, 'comments', 'body'), 'first,second,third');
    for (const each of outcomes)
      if (each) assert.equal((await comments.read(each.id, 1))?.tag, each.tag);
    const keys = await rows(database, 'SELECT key FROM notes_server_answers ORDER BY key');
    assert.deepEqual(keys, [{ key: 'b' }, { key: 'd' }]);
    // The owner appears, and the key counts as new.
    await notes.create([['c', 'd']]);
    assert.equal((await create('a', 2, 'now'))?.isReplay, false);
  });

  test('keys: of equal ones in one batch, the first is performed', async (t) => {
    const { notes, tags, database, heard } = await openTables(t, engine);
    const [known] = await Promise.all([notes.create([['known', 'b']], undefined, once('known'))]);
    const before = heard.transactions.length;
    const create = (title: string, key: string, fingerprint?: string) =>
      notes.create([[title, 'b']], undefined, once(key, fingerprint));
    const outcomes = await Promise.all([
      create('one', 'k'),
      create('two', 'l'),
      create('one', 'k'),
      create('one', 'k'),
      create('known', 'known'),
      create('three', 'm'),
    ]);
    assert.equal(heard.transactions.length, before + 1);
    const replayed = outcomes.map((each) => (each?.isReplay ? each.id : 'new'));
    assert.equal(replayed.join(), 'new,new,2,2,1,new');
    assert.equal(outcomes[4]?.tag, known?.tag);
    for (const index of [0, 1, 5]) {
      const { id, tag } = outcomes[index] ?? assert.fail();
      assert.equal((await notes.read(id))?.tag, tag);
    }
    assert.equal(await stored(database, 'notes', 'title'), 'known,one,two,three');
    // Other kinds of writes in between.
    const mixed = await Promise.all([
      notes.create([['x', 'b']]),
      create('four', 'n'),
      tags.create([['t']], undefined, once('tag')),
      notes.remove(1),
      create('four', 'n'),
    ]);
    assert.deepEqual(mixed[4], { ...(mixed[1] ?? {}), isReplay: true });
    assert.deepEqual([mixed[2]?.id, mixed[2]?.isReplay], [1, false]);
  });

  test('keys: known for 24 hours', async (t) => {
    const { notes, database } = await openTables(t, engine);
    const create = (key: string) => notes.create([['a', 'b']], undefined, once(key));
    const age = (key: string, ms: number) =>
      change(
        database,
        `UPDATE notes_server_answers SET answered_at = answered_at - ${ms} WHERE key = '${key}'`,
      );
    await Promise.all([create('old'), create('young')]);
    await age('old', DAY_MS);
    // More than the test can take.
    await age('young', DAY_MS - 600_000);
    assert.equal((await create('young'))?.isReplay, true);
    const keys = await rows(database, 'SELECT key FROM notes_server_answers');
    assert.deepEqual(keys, [{ key: 'young' }]);
    assert.deepEqual([(await create('old'))?.id, (await create('old'))?.isReplay], [3, true]);
  });

  test('keys: the latest 100,000 are known', async (t) => {
    const { notes, tags, database } = await openTables(t, engine);
    const create = (table: TestTable, values: Values, key: string) =>
      table.create([values], undefined, once(key));
    for (const key of ['a', 'b', 'c']) await create(notes, [key, 'b'], key);
    const keys = async () =>
      (await rows(database, 'SELECT key FROM notes_server_answers ORDER BY position')).map(
        ({ key }) => key,
      );
    // As if there had been others between b and c: b is the oldest of 100,000.
    await change(
      database,
      `UPDATE notes_server_answers SET position = ${KEPT_KEYS + 1} WHERE key = 'c'`,
    );
    assert.equal((await create(notes, ['b', 'b'], 'b'))?.isReplay, true);
    assert.deepEqual(await keys(), ['b', 'c']);
    await create(tags, ['t'], 'd');
    assert.equal((await create(notes, ['b', 'b'], 'b'))?.isReplay, false);
    assert.deepEqual(await keys(), ['c', 'd', 'b']);
  });
}
