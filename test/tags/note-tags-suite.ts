// The tests of tags on notes, and of notes that are written with their tags, for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Row } from '../../src/storage/database.ts';
import { overhear, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import {
  playTaggingGame,
  storedNoteTags,
  taggingGames,
  taggingTablesOf,
} from '../support/tagging-games.ts';

/** Asserts that no list of the parameter is parsed again for each row of something else. */
function assertListsReadOnce(plan: readonly Row[], sql: string): void {
  const loops = plan.filter(({ detail }) => /^(?:SCAN|SEARCH) /.test(String(detail)));
  for (const loop of loops) {
    const outermost = loops.find(({ parent }) => parent === loop.parent);
    if (loop !== outermost) assert.doesNotMatch(String(loop.detail), /jsonb?_each/, sql);
  }
}

/** Registers the test that plays as many random games on `engine`. */
export function testTaggingGames(engine: Engine, games: number): void {
  test('tags on notes: random batches of all kinds of writes, as in a model', async (t) => {
    await fc.assert(
      fc.asyncProperty(taggingGames, async (game) => {
        const database = await engine.open(t);
        await playTaggingGame(database, game);
        await database.close();
      }),
      { numRuns: games },
    );
  });
}

/** Registers the tests of tags on notes on `engine`; `games` are played on it. */
export function testNoteTags(engine: Engine, games = 2): void {
  testTaggingGames(engine, games);

  test('tags on notes: many in one batch share statements, except of the same pair', async (t) => {
    const heard = overhear(await engine.open(t));
    const { notes, tags, noteTags } = taggingTablesOf(heard.database);
    await notes.create(Array.from({ length: 30 }, () => ['a', 'b']));
    await tags.create(Array.from({ length: 10 }, () => ['t']));
    const pairs = Array.from({ length: 300 }, (_, index) => {
      return [1 + (index % 30), 1 + Math.floor(index / 30)] as const;
    });
    const before = heard.transactions.length;
    await Promise.all(
      [...pairs, [1, 11] as const, [31, 1] as const].map((pair) => noteTags.add(pair)),
    );
    // Reads the state, inserts, sets the times of the changes.
    assert.equal(heard.transactions[before]?.statements.length, 3);
    assert.equal((await storedNoteTags(heard.database)).length, 300);
    const again = await Promise.all([
      noteTags.add([1, 1]),
      noteTags.add([1, 1]),
      noteTags.remove([1, 1]),
    ]);
    assert.deepEqual(again, ['tagged', 'tagged', 'tagged']);
    const twice = await Promise.all([noteTags.remove([2, 2]), noteTags.remove([2, 2])]);
    assert.deepEqual(twice, ['tagged', 'untagged']);
    assert.equal((await storedNoteTags(heard.database)).length, 298);
    assert.equal(await noteTags.read([3, 3]), 'tagged');
    assert.equal(await noteTags.read([3, 11]), 'no tag');
  });

  test('tags on notes: creations share their steps, and refuse each other nothing', async (t) => {
    const heard = overhear(await engine.open(t));
    const { notes, tags } = taggingTablesOf(heard.database);
    await tags.create([['old']]);
    const plain = notes.create([['first', 'b']]);
    const created = await Promise.all([
      ...Array.from({ length: 10 }, (_, index) =>
        notes.createWith([[`${index}`, 'b']], {
          ...{
            tags: [
              [0, 'old'],
              [0, index % 2 ? 'odd' : 'even'],
            ] as const,
          },
          ...{ once: { key: `${index}`, fingerprint: 'f' }, times: [[0, 1]], name: `${index % 9}` },
        }),
      ),
      plain,
    ]);
    assert.deepEqual(
      created.map((each) => [each?.id, each?.createdIds?.tag_id, each?.refusal?.slug]),
      [
        ...[
          [2, 2, undefined],
          [3, 3, undefined],
        ],
        ...[4, 5, 6, 7, 8, 9, 10].map((id) => [id, undefined, undefined]),
        [11, undefined, 'validation-failed'],
        [1, undefined, undefined],
      ],
    );
  });

  test('tags on notes: records of several creations get their own', async (t) => {
    const heard = overhear(await engine.open(t));
    const { notes } = taggingTablesOf(heard.database);
    const two = [
      ['a', 'b'],
      ['c', 'd'],
    ] as const;
    const once = { key: 'k', fingerprint: 'f' };
    await notes.createWith(two, { once });
    await Promise.all([
      notes.createWith(two, { tags: [[1, 'x']] }),
      notes.createWith(two, { tags: [[0, 'y']], once }),
      notes.createWith(two, {
        tags: [
          [0, 'z'],
          [1, 'x'],
        ],
      }),
    ]);
    assert.equal(heard.transactions.length, 2);
    assert.deepEqual(await storedNoteTags(heard.database), ['4-1', '5-2', '6-1']);
  });

  test('tags on notes: an id that another request of the batch gives to a new tag', async (t) => {
    const heard = overhear(await engine.open(t));
    const { notes } = taggingTablesOf(heard.database);
    const create = (...sets: readonly (readonly (number | string)[])[]) =>
      notes.createWith(
        sets.map(() => ['a', 'b']),
        { tags: sets.flatMap((set, row) => set.map((tag) => [row, tag] as const)) },
      );
    const created = await Promise.all([
      ...[create(['new']), create(['x'], [1]), create([1])],
      ...[create(['y']), create([3]), create([9])],
    ]);
    assert.deepEqual(
      created.map((each) => each?.refusal?.slug ?? each?.createdIds?.tag_id),
      [1, 2, undefined, 3, undefined, 'validation-failed'],
    );
    assert.equal(heard.transactions.length, 1, 'none has failed');
  });

  test('tags on notes: statements find their rows through keys', async (t) => {
    if (!engine.explainsWrites) return;
    const heard = overhear(await engine.open(t));
    const { notes, tags, noteTags } = taggingTablesOf(heard.database);
    await notes.create([['a', 'b']]);
    await tags.create([['t']]);
    const before = heard.transactions.length;
    await noteTags.add([1, 1]);
    await noteTags.remove([1, 1]);
    for (const [key, tag] of Object.entries({ k: 1, l: 'name' }))
      await notes.createWith([['a', 'b']], {
        ...{ tags: [[0, tag]], once: { key, fingerprint: 'f' }, name: key, times: [[0, 1]] },
      });
    await notes.changeTagged(2, ['c', null], []);
    await notes.changeTagged(2, [null, null], [[0, 'name']]);
    const single = { added: ['name', 'other'], removed: ['t'] };
    await notes.changeNamed(2, 'k', ['d', null], { ...single, name: 'm' });
    await notes.changeNamed(2, null, [null, null], { name: null });
    await notes.changeNamed(2, null, ['e', 'f'], single);
    for (const { statements } of heard.transactions.slice(before)) {
      for (const { sql, rows: foretold } of statements) {
        for (const each of [sql, ...(foretold ? [`SELECT ${foretold}`] : [])]) {
          const plan = await rows(heard.database, `EXPLAIN QUERY PLAN ${each}`);
          for (const { detail } of plan)
            assert.doesNotMatch(
              String(detail),
              /^SCAN (?:notes|tags|note_tags|notes_server_answers)\b/,
              each,
            );
          assertListsReadOnce(plan, each);
        }
      }
    }
  });
}
