// The words of a text as the search index has them; the tokenizer of SQLite only separates them.
import { Kind, kindOf } from './characters.ts';
import { FoldedText } from './folded-text.ts';

/** Longer words are equal if they begin alike; 171 ﬃ are longer, so a query may have one. */
const MAX_WORD_LENGTH = 512;

/** About how many characters of a text are indexed. Few have more: those full of ㌖ and the like. */
export const MAX_CHARACTERS = 125_000;

/** Returns the words in order, with a space after each, for the tokenizer `ascii` of FTS5. */
export function indexedText(text: string): string {
  let words = '';
  for (const element of elementsOf(text, MAX_CHARACTERS))
    words += isSpaceless(element) ? pairsIn(element) : `${cut(element)} `;
  return words;
}

/** Returns the folded words of a text, where a run of a script without spaces is one word. */
export function elementsOf(text: string, maxCharacters?: number): string[] {
  return new FoldedText(text, maxCharacters).text.split(' ').filter(Boolean);
}

/** Tells whether a folded word is a run of a script without spaces. */
export function isSpaceless(element: string): boolean {
  const kind = kindOf(element.codePointAt(0) ?? 0);
  return kind === Kind.spaceless || kind === Kind.joining;
}

/** Returns the words of a run without spaces: each pair of characters, and the last character. */
function pairsIn(run: string): string {
  const characters = Array.from(run);
  return characters.map((each, index) => `${each}${characters[index + 1] ?? ''} `).join('');
}

function cut(word: string): string {
  const start = word.slice(0, MAX_WORD_LENGTH);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
