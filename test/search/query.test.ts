// The query language: what each query finds in SQLite, compared with a plain scan over the texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOUNDS } from '../../src/contract/generated.js';
import { parseQuery } from '../../src/search/query.ts';
import { findIn, type Note } from '../support/search.ts';
import { checkFinds, checkMatches } from '../support/search-checks.ts';

/** Returns the expression of a query that has no fault. */
function matchOf(query: string): string {
  const parsed = parseQuery(query, BOUNDS);
  assert.ok('match' in parsed, query);
  return parsed.match;
}

test('search: query: each word can be the beginning of one', () => {
  const open = parseQuery('a "b c" d* -e 東京', BOUNDS, true);
  assert.deepEqual(open, parseQuery('a* "b c"* d* -e* 東京', BOUNDS));
});

test('search: query: punctuation and phrases count as the words that they are', () => {
  assert.ok(
    'match' in parseQuery(`${'! '.repeat(40)}${'"a b" '.repeat(16)}${'-d '.repeat(16)}`, BOUNDS),
  );
});

test('search: query: a repeated word is looked for once', () => {
  assert.equal(matchOf('a "a" b -c -c A'), '("a" AND "b") NOT ("c")');
});

test('search: query: separates words at white space of any kind', () => {
  assert.equal(
    matchOf('a\u3000b\u0085c\u2028d\te\u00a0f'),
    '"a" AND "b" AND "c" AND "d" AND "e" AND "f"',
  );
});

test('search: query: the longest run', async () => {
  const notes: Note[] = [['', 'あ'.repeat(10_000)]];
  assert.deepEqual(
    await findIn(notes, [matchOf('あ'.repeat(101)), matchOf(`${'あ'.repeat(100)}い`)]),
    [[0], []],
  );
});

test('search: query: words of 100,000 letters', async () => {
  const notes: Note[] = [['x'.repeat(100_000), 'é'.repeat(40_000)]];
  const queries = ['x'.repeat(500), `${'x'.repeat(500)}*`, `${'é'.repeat(400)}*`, 'é'];
  assert.deepEqual(await findIn(notes, queries.map(matchOf)), [[], [0], [0], []]);
});

test('search: query: every query is valid for SQLite', () => checkMatches({ numRuns: 1_000 }));

test('search: query: finds what a plain scan finds', () => checkFinds({ numRuns: 30 }));
