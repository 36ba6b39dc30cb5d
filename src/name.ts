// The grammar of the names of notes: paths in any language. They are stored in NFC, because some
// systems complete and send other forms of the same name.
import { countCharacters } from './characters.ts';

/** NFC makes one code point of at most four, of at most two units of UTF-16 each. */
const MAX_UNITS_PER_CHARACTER = 8;

/** What would take more than one line, or what some take for a slash. */
const REFUSED = /[\p{Cc}\u2028\u2029\\]/u;

/** Returns a code and the end of a sentence if a text is no name; `maxLength` counts in NFC. */
export function faultInName(
  text: string,
  maxLength: number,
): readonly [code: string, detail: string] | undefined {
  if (text === '') return ['minLength', 'must not be empty'];
  if (!text.isWellFormed()) return ['format', 'must be valid Unicode, without lone surrogates'];
  // NFC of a long text may take long.
  const isLong = text.length > MAX_UNITS_PER_CHARACTER * maxLength;
  if (isLong || countCharacters(text.normalize()) > maxLength)
    return ['maxLength', `must have at most ${maxLength} characters`];
  const segments = text.split('/');
  for (const [index, segment] of segments.entries()) {
    const fault = faultInSegment(segment);
    const place = `segment ${index + 1} of ${segments.length}`;
    if (fault) return ['pattern', `must not have ${fault.replace('SEGMENT', place)}`];
  }
  return undefined;
}

function faultInSegment(segment: string): string | undefined {
  if (segment === '') return 'empty segments, but SEGMENT is empty';
  if (segment === '.' || segment === '..') return 'dot segments, but SEGMENT is one';
  const [refused] = REFUSED.exec(segment) ?? [];
  const code = refused?.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return code && `control characters, line separators or backslashes, but SEGMENT has U+${code}`;
}
