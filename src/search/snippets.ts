// Snippets: the parts of texts that show why a search found them.
import { MAX_SNIPPET_LENGTH } from '../contract/generated.js';
import { Turns } from '../http/turns.ts';
import { FoldedText } from './folded-text.ts';
import type { Needle, Query } from './query.ts';
import { MAX_CHARACTERS } from './words.ts';

/** A part of a text. A range reaches from the first code point of a match to before its end. */
export interface Snippet {
  readonly text: string;
  readonly ranges: readonly (readonly [number, number])[];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** The limits of the snippets of a page; tests change them. */
export const SNIPPET_LIMITS = {
  characters: 1_000_000,
  /** How long the search goes on before other requests may run. */
  sliceMs: 2,
};

/** How much text a snippet shows before its first match, in UTF-16 units. */
const LEAD = 48;

/** What is skipped of that: to the end of a space near its start, or a character. */
const SKIPPED = /^(?:\S{0,23}\s+|.[\p{M}\u200d]*)/su;

const turns = new Turns();

/** Resolves with JSON texts for records; calls `check`, which may throw, after each pause. */
export async function makeSnippets(
  records: readonly (string | Buffer)[],
  [title = '', body = '']: readonly string[],
  query: Pick<Query, 'needles'>,
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
    const snippet = snippetOf(titleText, bodyText, query, share);
    snippets.push(JSON.stringify(snippet));
    if (performance.now() <= pausedMs + SNIPPET_LIMITS.sliceMs) continue;
    await turns.next();
    check();
    pausedMs = performance.now();
  }
  return snippets;
}

/** Returns the part around the first match in the first `maxCharacters` of the body or title. */
export function snippetOf(
  title: string,
  body: string,
  { needles }: Pick<Query, 'needles'>,
  maxCharacters: number,
): Snippet {
  for (const text of needles.length > 0 ? [body, title] : []) {
    const matches: Span[] = [];
    let span: Span | undefined;
    for (const match of matchesIn(new FoldedText(text, maxCharacters), needles)) {
      span ??= spanAround(text, match.start);
      if (match.start >= span.end) break;
      matches.push(match);
    }
    if (span) return cutOut(text, span, matches);
  }
  const text = body || title;
  return cutOut(text, spanAround(text, 0), []);
}

/** Yields the matches by the place where they begin. */
function* matchesIn(folded: FoldedText, needles: readonly Needle[]): Generator<Span> {
  const { text } = folded;
  // All at once: one pass for each needle would take too long. Folded words need no escapes.
  const any = new RegExp(needles.map((needle) => needle.text).join('|'), 'g');
  for (let found = any.exec(text); found; found = any.exec(text)) {
    const { index } = found;
    const start = folded.startOf(text[index] === ' ' ? index + 1 : index);
    for (const needle of needles.filter((each) => text.startsWith(each.text, index))) {
      const wordEnd = index + needle.text.trimEnd().length;
      const space = needle.isPrefix ? text.indexOf(' ', wordEnd) : wordEnd;
      yield { start, end: folded.endOf(space === -1 ? text.length : space) };
    }
    any.lastIndex = index + 1;
  }
}

/** Returns the span of a text, with the matches that begin in it; joins those that overlap. */
function cutOut(text: string, { start, end }: Span, matches: readonly Span[]): Snippet {
  const joined: Span[] = [];
  for (const match of matches) {
    if (match.start < start || match.start >= end) continue;
    const last = joined.at(-1);
    if (last === undefined || match.start >= last.end) joined.push(match);
    else if (match.end > last.end) joined.splice(-1, 1, { ...last, end: match.end });
  }
  const ranges = joined.map((match): [number, number] => [
    Array.from(text.slice(start, match.start)).length,
    Array.from(text.slice(start, Math.min(match.end, end))).length,
  ]);
  return { text: text.slice(start, end), ranges };
}

/** Returns the span around a match at `first`; starts after a space if one is near. */
function spanAround(text: string, first: number): Span {
  const from = Math.max(0, Math.min(first - LEAD, text.length - MAX_SNIPPET_LENGTH));
  const lead = from === 0 ? '' : text.slice(from, first);
  const start = from + (SKIPPED.exec(lead)?.[0].length ?? 0);
  const { length } = Array.from(text.slice(start, start + 2 * MAX_SNIPPET_LENGTH))
    .slice(0, MAX_SNIPPET_LENGTH)
    .join('');
  return { start, end: start + length };
}
