// The tests of links, and of records that are written with their links, for any engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { overhear, rows } from '../support/databases.ts';
import type { Engine } from '../support/engines.ts';
import { linkedTablesOf, linkGames, playLinkGame, storedLinks } from '../support/link-games.ts';

/** Registers the test that plays as many random games on `engine`. */
export function testLinkGames(engine: Engine, games: number): void {
  test('links: random batches of all kinds of writes, as in a model', async (t) => {
    await fc.assert(
      fc.asyncProperty(linkGames, async (game) => {
        const database = await engine.open(t);
        await playLinkGame(database, game);
        await database.close();
      }),
      { numRuns: games },
    );
  });
}

/** Registers the tests of links on `engine`; `games` are played on it. */
export function testLinks(engine: Engine, games = 2): void {
  testLinkGames(engine, games);

  test('links: many in one batch share statements, except writes of the same link', async (t) => {
    const heard = overhear(await engine.open(t));
    const { notes, tags, links } = linkedTablesOf(heard.database);
    await notes.create(Array.from({ length: 30 }, () => ['a', 'b']));
    await tags.create(Array.from({ length: 10 }, () => ['t']));
    const pairs = Array.from({ length: 300 }, (_, index) => {
      return [1 + (index % 30), 1 + Math.floor(index / 30)] as const;
    });
    const before = heard.transactions.length;
    await Promise.all(
      [...pairs, [1, 11] as const, [31, 1] as const].map((pair) => links.add(pair)),
    );
    // Reads the state, inserts, sets the times of the changes.
    assert.equal(heard.transactions[before]?.statements.length, 3);
    assert.equal((await storedLinks(heard.database)).length, 300);
    const again = await Promise.all([links.add([1, 1]), links.add([1, 1]), links.remove([1, 1])]);
    assert.deepEqual(again, ['tagged', 'tagged', 'tagged']);
    const twice = await Promise.all([links.remove([2, 2]), links.remove([2, 2])]);
    assert.deepEqual(twice, ['tagged', 'untagged']);
    assert.equal((await storedLinks(heard.database)).length, 298);
    assert.equal(await links.read([3, 3]), 'tagged');
    assert.equal(await links.read([3, 11]), 'no tag');
  });

  test('links: statements find their rows through keys', async (t) => {
    if (!engine.explainsWrites) return;
    const heard = overhear(await engine.open(t));
    const { notes, tags, links } = linkedTablesOf(heard.database);
    await notes.create([['a', 'b']]);
    await tags.create([['t']]);
    const before = heard.transactions.length;
    await links.add([1, 1]);
    await links.remove([1, 1]);
    await notes.createTagged([['a', 'b']], [[0, 1]], 0, { key: 'k', fingerprint: 'f' });
    await notes.createTagged([['a', 'b']], [[0, 'name']], 0, { key: 'l', fingerprint: 'f' });
    await notes.changeTagged(2, ['c', null], []);
    await notes.changeTagged(2, [null, null], [[0, 'name']]);
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
        }
      }
    }
  });
}
