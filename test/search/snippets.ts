// Runs the search for a snippet to its end, over texts in pieces.
import assert from 'node:assert/strict';
import { parseQuery } from '../../src/search/query.ts';
import { type Pieces, type Snippet, snippetOf } from '../../src/search/snippet.ts';
import { UNBOUNDED } from '../support/search.ts';

/** The length of the snippets of tests. */
export const LENGTH = 160;

/** More than any test searches. */
const MUCH = 1e9;

/** Returns a text as its pieces of `length` code points. */
export function inPieces(text: string, length = Number.POSITIVE_INFINITY): Pieces {
  let rest = Array.from(text);
  const pieces = {
    isEnd: false,
    next() {
      const piece = rest.slice(0, length).join('');
      rest = rest.slice(length);
      pieces.isEnd = rest.length === 0;
      return piece;
    },
  };
  return pieces;
}

/** Returns the snippet for a query, and how often the search has paused. */
export function searchSnippet(query: string, body: Pieces, title = inPieces(''), units = MUCH) {
  const parsed = parseQuery(query, UNBOUNDED);
  assert.ok('match' in parsed, query);
  const search = snippetOf(title, body, parsed, LENGTH, { units });
  let pauses = 0;
  for (;;) {
    const { done, value } = search.next();
    if (done) return { snippet: value satisfies Snippet, pauses };
    pauses += 1;
  }
}
