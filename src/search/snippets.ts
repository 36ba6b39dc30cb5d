// The snippets of a page: the search for matches is bounded, and lets other requests run.
import { MAX_SNIPPET_LENGTH } from '../contract/generated.js';
import { Turns } from '../http/turns.ts';
import type { Query } from './query.ts';
import { snippetOf } from './snippet.ts';
import { MAX_CHARACTERS } from './words.ts';

/** The limits of the snippets of a page; tests change them. */
export const SNIPPET_LIMITS = {
  characters: 1_000_000,
  /** How long the search goes on before other requests may run. */
  sliceMs: 2,
};

const turns = new Turns();

/** Resolves with JSON texts; calls `check`, which may throw, after each pause. */
export async function makeSnippets(
  records: readonly (string | Buffer)[],
  [title = '', body = '']: readonly string[],
  query: Query,
  check: () => void,
): Promise<readonly string[]> {
  const snippets: string[] = [];
  let left = SNIPPET_LIMITS.characters;
  let pausedMs = performance.now();
  for (const [index, record] of records.entries()) {
    const { [title]: titleText = '', [body]: bodyText = '' } = JSON.parse(`${record}`);
    // What a record does not need is left to the next ones.
    const share = Math.min(MAX_CHARACTERS, left / (records.length - index));
    left -= Math.min(bodyText.length, share);
    const snippet = snippetOf(titleText, bodyText, query, MAX_SNIPPET_LENGTH, share);
    snippets.push(JSON.stringify(snippet));
    if (performance.now() <= pausedMs + SNIPPET_LIMITS.sliceMs) continue;
    await turns.next();
    check();
    pausedMs = performance.now();
  }
  return snippets;
}
