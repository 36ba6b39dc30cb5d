// The query language: words, "words in a row", prefixes* and -exclusions; all else is text.
import { elementsOf, indexedText, isSpaceless } from './words.ts';

/** A word or phrase of a query as it occurs in a folded text. */
export interface Needle {
  readonly text: string;
  /** Whether a match extends to the end of the word that it begins. */
  readonly isPrefix: boolean;
}

/** What a query asks for: the expression for MATCH of FTS5, and what a snippet marks. */
export interface Query {
  readonly match: string;
  readonly needles: readonly Needle[];
}

/** The numbers of words and phrases, of words in them or pairs of characters, and of open words. */
type Counts = Record<'words' | 'terms' | 'prefixes', number>;

/** A star after a phrase makes its last word a prefix; a single quote is punctuation. */
const WORD = /(-?)(?:"([^"]*)"(\**)|(\P{White_Space}+))/gu;

/**
 * Returns what a text asks for or its fault; with `areOpen`, each word is the beginning of one. A
 * word of punctuation alone does not count.
 */
export function parseQuery(
  text: string,
  bounds: Readonly<Counts>,
  areOpen = false,
): Query | { readonly fault: string } {
  const needed = new Set<string>();
  const excluded = new Set<string>();
  const needles: Needle[] = [];
  const counts: Counts = { words: 0, terms: 0, prefixes: 0 };
  for (const [, minus, phrase, stars, word] of text.matchAll(WORD)) {
    const elements = elementsOf(phrase ?? word ?? '');
    if (elements.length === 0) continue;
    const isStarred = phrase === undefined ? word?.endsWith('*') === true : stars !== '';
    const isPrefix = areOpen || isStarred;
    const { tokens, isOpen } = tokensOf(elements, isPrefix);
    counts.words += 1;
    counts.terms += tokens.length;
    if (isOpen) counts.prefixes += 1;
    // What is repeated is found once.
    (minus ? excluded : needed).add(`"${tokens.join(' ')}"${isOpen ? ' *' : ''}`);
    if (!minus) needles.push(needleOf(elements, isPrefix));
  }
  const fault = faultOf(counts, bounds, needed.size, areOpen);
  if (fault !== undefined) return { fault };
  const all = [...needed].join(' AND ');
  const match = excluded.size === 0 ? all : `(${all}) NOT (${[...excluded].join(' OR ')})`;
  return { match, needles };
}

function faultOf(
  counts: Counts,
  bounds: Readonly<Counts>,
  needed: number,
  areOpen: boolean,
): string | undefined {
  const { words, terms, prefixes } = bounds;
  if (counts.words === 0) return 'must contain at least one word';
  if (needed === 0) return 'must contain at least one word without "-"';
  if (counts.words > words) return `must contain at most ${words} words`;
  if (counts.terms > terms)
    return `must contain at most ${terms} words in phrases and pairs of characters; shorten it`;
  if (counts.prefixes > prefixes && areOpen)
    return `must contain at most ${prefixes} words with match=prefix`;
  if (counts.prefixes > prefixes)
    return `must contain at most ${prefixes} words that end with "*" or a single character`;
  return undefined;
}

/** Returns words that must occur in a row, and whether the last is the beginning of one. */
function tokensOf(elements: readonly string[], isPrefix: boolean) {
  const tokens = indexedText(elements.join(' ')).trim().split(' ');
  const last = tokens.at(-1) ?? '';
  const isSpacelessEnd = isSpaceless(last);
  const endsInPair = isSpacelessEnd && elements.at(-1) !== last;
  if (endsInPair) tokens.pop();
  return { tokens, isOpen: !endsInPair && (isSpacelessEnd || isPrefix) };
}

function needleOf(elements: readonly string[], isPrefix: boolean): Needle {
  const isOpen = isSpaceless(elements.at(-1) ?? '');
  const start = isSpaceless(elements[0] ?? '') ? '' : ' ';
  const end = isOpen || isPrefix ? '' : ' ';
  return { text: start + elements.join(' ') + end, isPrefix: isPrefix && !isOpen };
}
