// The part of a text that shows why a search found it.
import { FoldedText } from './folded-text.ts';
import type { Needle, Query } from './query.ts';

/** A part of a text. A range reaches from the first code point of a match to before its end. */
export interface Snippet {
  readonly text: string;
  readonly ranges: readonly (readonly [number, number])[];
}

/** A text in pieces of whole code points; each but the only one has some. */
export type Pieces = Pick<JsonString, 'isEnd' | 'next'>;

/** How much more may be searched: the code units of texts, and those that they are folded to. */
export interface Effort {
  units: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** How much text a snippet shows before its first match, in UTF-16 units. */
const LEAD = 48;

const PIECE_BYTES = 2_048;
const QUOTE = 0x22;

/** The bytes of a character after its first one. */
const REST = '[\\x80-\\xbf]';

/** Complete characters and escapes of a string in JSON, as the bytes of their UTF-8. */
const CHARACTERS = new RegExp(
  `(?:[ !#-[\\]-\\x7f]|[\\xc2-\\xdf]${REST}|[\\xe0-\\xef]${REST}{2}|[\\xf0-\\xf4]${REST}{3}` +
    '|\\\\u[\\da-fA-F]{4}|\\\\[^u])*',
  'y',
);

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Returns up to `maxLength` code points around the first match that `effort` reaches. */
export function* snippetOf(
  title: Pieces,
  body: Pieces,
  { needles }: Query,
  maxLength: number,
  effort: Effort,
): Generator<undefined, Snippet> {
  const texts = [new SearchedText(body, effort), new SearchedText(title, effort)];
  for (const text of texts) {
    const snippet = yield* snippetIn(text, needles, maxLength);
    if (snippet) return snippet;
  }
  const { text } = texts.find((each) => each.text !== '') ?? { text: '' };
  return cutOut(text, spanAround(text, 0, maxLength), []);
}

/** The beginning of a text, which grows as the search needs it. */
class SearchedText {
  readonly folded = new FoldedText();
  text = '';
  readonly #pieces: Pieces;
  readonly #effort: Effort;

  constructor(pieces: Pieces, effort: Effort) {
    this.#pieces = pieces;
    this.#effort = effort;
  }

  *readUntil(isEnough: () => boolean): Generator<undefined, void> {
    while (!isEnough() && !this.#pieces.isEnd && (this.#effort.units > 0 || this.text === '')) {
      yield;
      const piece = this.#pieces.next();
      const { length } = this.folded;
      this.folded.append(piece);
      this.text += piece;
      if (this.#pieces.isEnd) this.folded.finish();
      this.#effort.units -= piece.length + this.folded.length - length;
    }
  }
}

function* snippetIn(
  searched: SearchedText,
  needles: readonly Needle[],
  maxLength: number,
): Generator<undefined, Snippet | undefined> {
  const { folded } = searched;
  const longest = Math.max(...needles.map(({ text }) => text.length));
  let first = Number.POSITIVE_INFINITY;
  let known = 0;
  yield* searched.readUntil(() => {
    first = Math.min(first, firstMatch(folded, needles, Math.max(0, known - longest)));
    known = folded.length;
    // Until then, another needle may have begun earlier.
    return known >= first + longest;
  });
  if (first === Number.POSITIVE_INFINITY) return undefined;
  const start = folded.startOf(first);
  yield* searched.readUntil(() => searched.text.length >= start + windowFor(maxLength));
  const span = spanAround(searched.text, start, maxLength);
  yield* searched.readUntil(() => folded.startOf(folded.length - longest) >= span.end);
  // A needle begins with the space before its word.
  const matches = matchesBetween(folded, needles, Math.max(0, first - 1), span.end);
  return cutOut(searched.text, span, matches);
}

/** Returns the position of the first matching character, or Infinity. */
function firstMatch(folded: FoldedText, needles: readonly Needle[], from: number): number {
  const text = folded.textFrom(from);
  const positions = needles.map((needle) => {
    const position = text.indexOf(needle.text);
    return position === -1 ? Number.POSITIVE_INFINITY : from + position + leadOf(needle);
  });
  return Math.min(...positions);
}

/** Returns the matches from a position on that begin before `end` in the original. */
function matchesBetween(
  folded: FoldedText,
  needles: readonly Needle[],
  from: number,
  end: number,
): Span[] {
  const text = folded.textFrom(from);
  const matches: Span[] = [];
  for (const needle of needles) {
    let position = text.indexOf(needle.text);
    while (position !== -1) {
      const start = folded.startOf(from + position + leadOf(needle));
      if (start >= end) break;
      const wordEnd = position + needle.text.trimEnd().length;
      const space = needle.isPrefix ? text.indexOf(' ', wordEnd) : wordEnd;
      matches.push({ start, end: folded.endOf(from + (space === -1 ? text.length : space)) });
      position = text.indexOf(needle.text, position + 1);
    }
  }
  return matches;
}

function leadOf({ text }: Needle): number {
  return text.startsWith(' ') ? 1 : 0;
}

/** Returns the span of a text, with the matches that begin in it; joins those that overlap. */
function cutOut(text: string, { start, end }: Span, matches: Span[]): Snippet {
  const joined: Span[] = [];
  for (const match of matches.sort((one, other) => one.start - other.start)) {
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
function spanAround(text: string, first: number, maxLength: number): Span {
  const from = Math.max(0, Math.min(first - LEAD, text.length - maxLength));
  const window = text.slice(from, from + windowFor(maxLength));
  const segments = graphemes.segment(window);
  let start = from;
  if (from > 0) {
    const space = window.slice(0, LEAD / 2).search(/\s[^\s\p{M}]/u);
    const skipped = space === -1 ? (segments.containing(0)?.segment.length ?? 0) : space + 1;
    start = Math.min(from + skipped, first);
  }
  const length = Array.from(window.slice(start - from))
    .slice(0, maxLength)
    .join('').length;
  const last = segments.containing(start + length - from);
  const end = last && from + last.index > first ? from + last.index : start + length;
  return { start, end };
}

/** Returns the room for the lead, a snippet and the code point after it, in UTF-16 units. */
function windowFor(maxLength: number): number {
  return LEAD + 2 * (maxLength + 1);
}

/** A string in a JSON text, from the character after its quote on; decoded only where needed. */
export class JsonString {
  isEnd = false;
  readonly #json: Buffer;
  #position: number;

  constructor(json: Buffer, position: number) {
    this.#json = json;
    this.#position = position;
  }

  /** Returns the next piece of the string, which ends between two code points. */
  next(): string {
    const bytes = this.#json.toString('latin1', this.#position, this.#position + PIECE_BYTES);
    CHARACTERS.lastIndex = 0;
    const [{ length }] = CHARACTERS.exec(bytes) ?? [''];
    const end = this.#position + length;
    const piece: string = JSON.parse(`"${this.#json.toString('utf8', this.#position, end)}"`);
    this.#position = end;
    // The second condition: invalid UTF-8 that another program has stored.
    this.isEnd = this.#json[end] === QUOTE || length === 0;
    return piece;
  }
}
