// The part of a text that shows why a search found it.
import { FoldedText } from './folded-text.ts';
import type { Needle, Query } from './query.ts';

/** A part of a text. A range reaches from the first code point of a match to before its end. */
export interface Snippet {
  readonly text: string;
  readonly ranges: readonly (readonly [number, number])[];
}

/** A part of a text, in UTF-16 units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** How much text a snippet shows before its first match, in UTF-16 units. */
const LEAD = 48;
/** The code units from which a snippet is taken: more than the lead and the longest snippet. */
const WINDOW = 512;
/** The code units that are folded first; most texts match there. */
const HEAD = 4_096;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Returns the part around the first match in the body, or else in the title, of at most `maxLength`
 * code points.
 */
export function snippetOf(
  title: string,
  body: string,
  { needles }: Query,
  maxLength: number,
): Snippet {
  return (
    snippetIn(body, HEAD, needles, maxLength) ??
    snippetIn(body, body.length, needles, maxLength) ??
    snippetIn(title, title.length, needles, maxLength) ??
    cutOut(body || title, spanAround(body || title, 0, maxLength), [])
  );
}

/**
 * Returns the part around the first match in the first `length` code units, where the words around
 * it are known to be whole.
 */
function snippetIn(
  text: string,
  length: number,
  needles: readonly Needle[],
  maxLength: number,
): Snippet | undefined {
  const folded = new FoldedText(text.slice(0, length));
  const firsts = needles.flatMap((needle) => matchFrom(folded, needle, 0) ?? []);
  const start = Math.min(...firsts.map((match) => match.start));
  const known = length < text.length ? length - 2 * WINDOW : length;
  if (firsts.length === 0 || start > known) return undefined;
  const span = spanAround(text, start, maxLength);
  const matches = needles.flatMap((needle) => matchesUntil(folded, needle, span.end));
  return cutOut(text, span, matches);
}

/** A match, with the position in the folded text where it was found. */
interface Match extends Span {
  readonly position: number;
}

function matchesUntil(folded: FoldedText, needle: Needle, end: number): Match[] {
  const matches: Match[] = [];
  let match = matchFrom(folded, needle, 0);
  while (match && match.start < end) {
    matches.push(match);
    match = matchFrom(folded, needle, match.position + 1);
  }
  return matches;
}

function matchFrom(
  folded: FoldedText,
  { text, isPrefix }: Needle,
  from: number,
): Match | undefined {
  const position = folded.text.indexOf(text, from);
  if (position === -1) return undefined;
  const wordEnd = position + text.trimEnd().length;
  const end = isPrefix ? folded.text.indexOf(' ', wordEnd) : wordEnd;
  const first = text.startsWith(' ') ? position + 1 : position;
  return { position, start: folded.startOf(first), end: folded.endOf(end) };
}

/** Returns the span of a text, with the matches that begin in it; joins those that overlap. */
function cutOut(text: string, { start, end }: Span, matches: Match[]): Snippet {
  const joined: Match[] = [];
  for (const match of matches.sort((one, other) => one.start - other.start)) {
    const last = joined.at(-1);
    if (last === undefined || match.start >= last.end) joined.push(match);
    else if (match.end > last.end) joined.splice(-1, 1, { ...last, end: match.end });
  }
  const ranges = joined.map((match): [number, number] => [
    lengthOf(text.slice(start, match.start)),
    lengthOf(text.slice(start, Math.min(match.end, end))),
  ]);
  return { text: text.slice(start, end), ranges };
}

/**
 * Returns the span around the match that starts at `first`. It begins after a space if there is one
 * in the first half of the lead, and does not split characters of several code points.
 */
function spanAround(text: string, first: number, maxLength: number): Span {
  const from = Math.max(0, Math.min(first - LEAD, text.length - maxLength));
  const window = text.slice(from, from + WINDOW);
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

/** Returns the number of code points. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
