// The query language of the search: words, "words in a row", prefixes* and -exclusions. Everything
// else is plain text, so that no query is a syntax error.
import { FoldedText } from './folded-text.ts';
import { elementsOf, isSpaceless, tokensOf } from './words.ts';

/** A word or phrase of a query as it occurs in a folded text. */
export interface Needle {
  readonly text: string;
  /** Whether a match extends to the end of the word that it begins. */
  readonly isPrefix: boolean;
}

/** What a query asks for. */
export interface Query {
  /** The complete expression for MATCH of FTS5. */
  readonly match: string;
  /** What a snippet marks: all words and phrases that must occur. */
  readonly needles: readonly Needle[];
}

const MAX_WORDS = 32;

/**
 * A word ends at white space. A phrase may be followed by a star, which makes its last word a
 * prefix; a quote inside a word, or without its counterpart, is punctuation.
 */
const WORD = /(-?)(?:"([^"]*)"(\**)|(\P{White_Space}+))/gu;

/**
 * Returns what a text asks for or, if it is no query, its fault, as in `must contain at least one
 * word`. A word consisting of punctuation alone does not count.
 */
export function parseQuery(text: string): Query | { readonly fault: string } {
  const needed: string[] = [];
  const excluded: string[] = [];
  const needles: Needle[] = [];
  for (const [, minus, phrase, stars, word] of text.matchAll(WORD)) {
    const elements = elementsOf(new FoldedText(phrase ?? word ?? ''));
    if (elements.length === 0) continue;
    const isPrefix = phrase === undefined ? word?.endsWith('*') === true : stars !== '';
    (minus ? excluded : needed).push(expressionOf(elements, isPrefix));
    if (!minus) needles.push(needleOf(elements, isPrefix));
  }
  const count = needed.length + excluded.length;
  if (count === 0) return { fault: 'must contain at least one word' };
  if (needed.length === 0) return { fault: 'must contain at least one word without "-"' };
  if (count > MAX_WORDS) return { fault: `must contain at most ${MAX_WORDS} words` };
  const all = needed.join(' AND ');
  const match = excluded.length === 0 ? all : `(${all}) NOT (${excluded.join(' OR ')})`;
  return { match, needles };
}

/**
 * Returns the words as a phrase of FTS5. If a run of a script without spaces ends the phrase, it
 * may continue in the text, where its last character does not stand alone.
 */
function expressionOf(elements: readonly string[], isPrefix: boolean): string {
  const tokens = elements.map(tokensOf).join(' ').split(' ');
  const last = tokens.at(-1) ?? '';
  const isOpen = isSpaceless(last);
  const endsInPair = isOpen && elements.at(-1) !== last;
  if (endsInPair) tokens.pop();
  return `"${tokens.join(' ')}"${!endsInPair && (isOpen || isPrefix) ? ' *' : ''}`;
}

function needleOf(elements: readonly string[], isPrefix: boolean): Needle {
  const isOpen = isSpaceless(elements.at(-1) ?? '');
  const start = isSpaceless(elements[0] ?? '') ? '' : ' ';
  const end = isOpen || isPrefix ? '' : ' ';
  return { text: start + elements.join(' ') + end, isPrefix: isPrefix && !isOpen };
}
