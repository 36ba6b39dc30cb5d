// The words of a text as the search index has them; the tokenizer of SQLite only separates them.
import { Kind, kindOf } from './characters.ts';
import { decode, FoldedText, SPACE } from './folded-text.ts';

/** Longer words are equal if they begin alike. A query is shorter, so it never meets the bound. */
const MAX_WORD_LENGTH = 512;

/** A word, cut at MAX_WORD_LENGTH, with what follows it; or what precedes the first. */
const ASCII_WORD = /^[^a-z0-9]+|([a-z0-9]{1,512})[a-z0-9]*[^a-z0-9]*/g;

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
  // The most usual texts are short and in ASCII, and need no folding.
  if (/^[ -~\t\n\r]{0,4096}$/.test(text))
    return text.toLowerCase().replace(ASCII_WORD, '$1 ').trimStart();
  const folded = new FoldedText(text, MAX_CHARACTERS);
  for (folded.advance(); !folded.isWhole; folded.advance()) yield;
  return wordsIn(folded.unitsFrom(0));
}

/** Returns the folded words of a text, where a run of a script without spaces is one word. */
export function elementsOf(text: string): string[] {
  const folded = new FoldedText(text);
  while (!folded.isWhole) folded.advance();
  return folded.textFrom(0).split(' ').slice(1, -1);
}

/** Tells whether a folded word is a run of a script without spaces. */
export function isSpaceless(element: string): boolean {
  return isSpacelessPoint(element.codePointAt(0) ?? 0);
}

function isSpacelessPoint(point: number): boolean {
  const kind = kindOf(point);
  return kind === Kind.spaceless || kind === Kind.joining;
}

/** Returns the words: of a run without spaces, each pair of characters and the last character. */
function wordsIn(units: Uint16Array): string {
  const words = new Uint16Array(3 * units.length);
  let length = 0;
  const copy = (from: number, to: number) => {
    for (let at = from; at < to; at += 1, length += 1) words[length] = units[at] ?? SPACE;
    words[length] = SPACE;
    length += 1;
  };
  for (let start = 1, end = 0; start < units.length; start = end + 1) {
    end = units.indexOf(SPACE, start);
    if (end === -1) end = units.length;
    if (!isSpacelessPoint(pointAt(units, start))) {
      copy(start, cut(units, start, end));
      continue;
    }
    let next = nextPosition(units, start);
    for (let at = start; at < end; at = next, next = nextPosition(units, at))
      copy(at, Math.min(nextPosition(units, next), end));
  }
  return decode(words.subarray(0, length));
}

function cut(units: Uint16Array, start: number, end: number): number {
  const longest = start + MAX_WORD_LENGTH;
  if (end <= longest) return end;
  return isHighSurrogate(units[longest - 1]) ? longest - 1 : longest;
}

function pointAt(units: Uint16Array, at: number): number {
  const high = units[at] ?? SPACE;
  if (!isHighSurrogate(high)) return high;
  return 0x10000 + ((high & 0x3ff) << 10) + ((units[at + 1] ?? 0) & 0x3ff);
}

function nextPosition(units: Uint16Array, at: number): number {
  return at + (isHighSurrogate(units[at]) ? 2 : 1);
}

function isHighSurrogate(unit = 0): boolean {
  return (unit & 0xfc00) === 0xd800;
}
