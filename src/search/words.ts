// The words of a text as the search index has them; the tokenizer of SQLite only separates them.
import { Kind, kindOf } from './characters.ts';
import { FoldedText } from './folded-text.ts';

/** Longer words are equal if they begin alike. A query is shorter, so it never meets the bound. */
const MAX_WORD_LENGTH = 512;

/** The first half of a character that was cut. */
const HALF_AT_END = /[\ud800-\udbff]$/;

/** About how many characters of a text are indexed. Few have more: those full of ㌖ and the like. */
const MAX_CHARACTERS = 125_000;

/** Returns the words in order, with a space after each, for the tokenizer `ascii` of FTS5. */
export function indexedText(text: string): string {
  const slices = indexedSlices(text);
  let slice = slices.next();
  while (!slice.done) slice = slices.next();
  return slice.value;
}

/** As {@link indexedText}, but yields every few milliseconds. */
export function* indexedSlices(text: string): Generator<void, string> {
  const folded = new FoldedText(text, MAX_CHARACTERS);
  for (folded.advance(); !folded.isWhole; folded.advance()) yield;
  return elementsIn(folded).map(wordsOf).join('');
}

/** Returns the folded words of a text, where a run of a script without spaces is one word. */
export function elementsOf(text: string): string[] {
  const folded = new FoldedText(text);
  while (!folded.isWhole) folded.advance();
  return elementsIn(folded);
}

function elementsIn(folded: FoldedText): string[] {
  return folded.textFrom(0).split(' ').slice(1, -1);
}

/** Tells whether a folded word is a run of a script without spaces. */
export function isSpaceless(element: string): boolean {
  const kind = kindOf(element.codePointAt(0) ?? 0);
  return kind === Kind.spaceless || kind === Kind.joining;
}

/** Returns a word or, of a run without spaces, each pair of characters and the last character. */
function wordsOf(element: string): string {
  if (!isSpaceless(element)) {
    const isCut = element.length > MAX_WORD_LENGTH;
    return `${isCut ? element.slice(0, MAX_WORD_LENGTH).replace(HALF_AT_END, '') : element} `;
  }
  let words = '';
  let last = '';
  for (const character of element) {
    if (last !== '') words += `${last}${character} `;
    last = character;
  }
  return `${words}${last} `;
}
