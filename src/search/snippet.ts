// The part of a text that shows why a search found it.
import { FoldedText } from './folded-text.ts';
import type { Needle, Query } from './query.ts';

/** A part of a text. A range reaches from the first code point of a match to before its end. */
export interface Snippet {
  readonly text: string;
  readonly ranges: readonly (readonly [number, number])[];
}

/** How much more may be searched: the code units of texts, and those that they are folded to. */
interface Effort {
  units: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** How much text a snippet shows before its first match, in UTF-16 units. */
const LEAD = 48;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns up to `maxLength` code points around the first match that `effort` reaches; yields after
 * each piece of text.
 */
export function* snippetOf(
  title: string,
  body: string,
  { needles }: Query,
  maxLength: number,
  effort: Effort,
): Generator<undefined, Snippet> {
  const longest = Math.max(...needles.map((needle) => needle.text.length));
  for (const text of [body, title]) {
    const folded = new FoldedText(text);
    let first = Number.POSITIVE_INFINITY;
    // Another needle may begin before the first match that is known.
    for (
      let known = 0;
      known < first + longest && foldMore(folded, effort);
      known = folded.length
    ) {
      first = Math.min(first, firstMatch(folded, needles, Math.max(0, known - longest)));
      yield;
    }
    if (first === Number.POSITIVE_INFINITY) continue;
    const span = spanAround(text, folded.startOf(first), maxLength);
    while (folded.startOf(folded.length - longest) < span.end && foldMore(folded, effort)) yield;
    // A needle begins with the space before its word.
    const matches = matchesBetween(folded, needles, Math.max(0, first - 1), span.end);
    return cutOut(text, span, matches);
  }
  const text = body || title;
  return cutOut(text, spanAround(text, 0, maxLength), []);
}

/** Folds the next piece; the first of a text in any case. False if none is left, or no effort. */
function foldMore(folded: FoldedText, effort: Effort): boolean {
  if (folded.isWhole || (effort.units <= 0 && folded.position > 0)) return false;
  const before = folded.position + folded.length;
  folded.advance();
  effort.units -= folded.position + folded.length - before;
  return true;
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
  // Room for the lead, a snippet and the code point after it.
  const window = text.slice(from, from + LEAD + 2 * (maxLength + 1));
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
