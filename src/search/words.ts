// The words of a text as the search index has them. SQLite's tokenizer only separates them at
// spaces; everything else is decided here, for the index and for queries alike.
import { Kind, kindOf } from './characters.ts';
import { FoldedText } from './folded-text.ts';

/** Longer words are equal if they begin alike. A query is shorter, so it never meets the bound. */
const MAX_WORD_LENGTH = 512;

/** Returns the words in order, with a space after each, for the tokenizer `ascii` of FTS5. */
export function indexedText(text: string): string {
  let tokens = '';
  for (const element of elementsOf(new FoldedText(text))) tokens += `${tokensOf(element)} `;
  return tokens;
}

/** Returns the folded words, where a run of a script without spaces is one word. */
export function elementsOf(folded: FoldedText): string[] {
  return folded.textFrom(0).split(' ').slice(1, -1);
}

/**
 * Returns the words of the index for a folded word, separated by spaces. A run of a script without
 * spaces becomes each pair of neighbouring characters, and its last character.
 */
export function tokensOf(element: string): string {
  if (!isSpaceless(element)) return cut(element);
  let pairs = '';
  for (let at = 0; at < element.length; at = nextPosition(element, at)) {
    pairs += at === 0 ? pairAt(element, at) : ` ${pairAt(element, at)}`;
  }
  return pairs;
}

/** Tells whether a folded word is a run of a script without spaces. */
export function isSpaceless(element: string): boolean {
  const kind = kindOf(element.codePointAt(0) ?? 0);
  return kind === Kind.spaceless || kind === Kind.joining;
}

function pairAt(run: string, at: number): string {
  return run.slice(at, nextPosition(run, nextPosition(run, at)));
}

function nextPosition(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

/** Cuts a word between code points. */
function cut(word: string): string {
  if (word.length <= MAX_WORD_LENGTH) return word;
  return word
    .slice(0, MAX_WORD_LENGTH)
    .toWellFormed()
    .replace(/\ufffd$/, '');
}
