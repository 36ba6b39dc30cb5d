// Snippets of long texts: how far the search for a match goes, and what it leaves to others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientGone } from '../../../src/http/problem.ts';
import { parseQuery } from '../../../src/search/query.ts';
import { makeSnippets, SNIPPET_LIMITS } from '../../../src/search/snippets.ts';
import { setLimits } from '../../support/overload.ts';
import { UNBOUNDED } from '../../support/search.ts';
import { startService } from '../../support/service.ts';

const WORDS = 5_000;
/** The words before a match, and after it as many as make all texts equally long. */
const textOf = (before: number) => `${'x '.repeat(before)}milk ${'x '.repeat(WORDS - before)}`;

test('snippets: a page searches so much text, of which each record has its share', async (t) => {
  const service = await startService(t);
  // Enough for half of three texts.
  const text = textOf(0);
  setLimits(t, SNIPPET_LIMITS, { characters: 1.5 * text.length });
  for (const before of [4_900, 1_000, 4_900, 4_900]) {
    const json = { title: 'title', body: textOf(before) };
    assert.equal((await service.request('POST', '/notes', { json })).status, 201);
  }
  const { json } = await service.request('GET', '/notes?q=milk&include=snippet&order=id&limit=3');
  const [far, near, last] = json.items.map((note: { snippet: object }) => note.snippet);
  assert.deepEqual(near.ranges, [[46, 50]]);
  assert.deepEqual(far, { text: text.replace('milk ', '').slice(0, 160), ranges: [] });
  assert.deepEqual(last, far);
  const { json: none } = await service.request('GET', '/notes?q=butter&include=snippet');
  assert.deepEqual(none.items, []);
  // A record that is alone has everything.
  const alone = await service.request('GET', '/notes?q=milk&include=snippet&order=id&after=3');
  assert.equal(alone.json.items[0].snippet.ranges.length, 1);
});

test('snippets: nothing is searched for a client that has left', async (t) => {
  setLimits(t, SNIPPET_LIMITS, { sliceMs: 0 });
  const query = parseQuery('milk', UNBOUNDED);
  assert.ok('match' in query);
  const line = JSON.stringify({ id: 1, title: 'title', body: textOf(4_000) });
  const page = Array.from({ length: 10 }, () => line);
  let checks = 0;
  const check = () => {
    checks += 1;
    if (checks === 3) throw new ClientGone('gone');
  };
  await assert.rejects(makeSnippets(page, ['title', 'body'], query, check), ClientGone);
  assert.equal(checks, 3);
});
