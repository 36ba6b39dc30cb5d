// Strict JSON (RFC 8259): `JSON.parse` accepts any nesting and does not tell `4.0` from `4`.
import { isUtf8 } from 'node:buffer';
import { Problem } from '../problem.ts';
import { describeFault, type Place, placeAfter } from './json-fault.ts';

/** How deeply arrays and objects may be nested (RFC 8259, section 9, allows a limit). */
export const MAX_NESTING_LEVELS = 1_000;

/** How many arrays, objects and members a text may have: more would delay other requests. */
export const MAX_PARTS = 100_000;

/** What to look at: the start of a string, brackets, colons, numbers with a point or exponent. */
const NOTABLE = /["[\]{}:]|-?(?<!\d)(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)/g;

/** The longest text, in UTF-16 units, in which a fault is looked for. */
const MAX_SCANNED = 1_048_576;

const BODY = 'The body';
const IN_BODY = placeAfter(Buffer.alloc(0));

/** Parses JSON; `4.0`, `4e0` and `1e999` become Infinity, which no schema accepts. Throws 400. */
export function parseJson(bytes: Buffer, subject = BODY, place = IN_BODY, hint = ''): unknown {
  if (bytes.length === 0)
    throw new Problem('bad-request', `${subject} is empty; a JSON text is expected.`);
  const text = decode(bytes, subject, place);
  // Most texts cannot be too deep and have no float.
  const needsCheck = text.length > MAX_NESTING_LEVELS || /\d[.eE]/.test(text);
  const checked = needsCheck ? checkTokens(text, subject, place) : text;
  try {
    return JSON.parse(checked);
  } catch (cause) {
    const fault = text.length <= MAX_SCANNED ? describeFault(text) : undefined;
    const where = fault ? ` at ${place(text.slice(0, fault.index))}: ${fault.what}` : '';
    throw new Problem('bad-request', `${subject} is not valid JSON${where}.${hint}`, { cause });
  }
}

/** Decodes UTF-8. Throws 400. */
export function decode(bytes: Buffer, subject = BODY, place = IN_BODY): string {
  const text = bytes.toString('utf8');
  if (isUtf8(bytes)) return text;
  // The decoder has put U+FFFD in place of what is no character.
  const before = text.slice(0, text.indexOf('\ufffd'));
  const at = before.length < MAX_SCANNED ? ` at ${place(before)}` : '';
  throw new Problem('bad-request', `${subject} is not valid UTF-8${at}.`);
}

/** Limits nesting and parts. Replaces numbers such as `4.0`; invalid text stays invalid. */
function checkTokens(text: string, subject: string, place: Place): string {
  const kept: string[] = [];
  let copied = 0;
  let depth = 0;
  let parts = 0;
  NOTABLE.lastIndex = 0;
  for (let found = NOTABLE.exec(text); found; found = NOTABLE.exec(text)) {
    const [token] = found;
    if (token === '"') NOTABLE.lastIndex = endOfString(text, NOTABLE.lastIndex);
    else if (token === ']' || token === '}') depth -= 1;
    else if (token === '[' || token === '{' || token === ':') {
      parts += 1;
      if (token !== ':') depth += 1;
      if (depth > MAX_NESTING_LEVELS) {
        const detail = `${subject} is nested too deeply at ${place(text.slice(0, found.index))}.`;
        throw new Problem('bad-request', detail);
      }
    } else if (!(Number(token) % 1)) {
      // An overflow is infinite, which leaves no whole remainder either.
      kept.push(text.slice(copied, found.index));
      copied = NOTABLE.lastIndex;
    }
  }
  if (parts > MAX_PARTS)
    throw new Problem('bad-request', `${subject} has too many arrays, objects and members.`);
  return copied === 0 ? text : [...kept, text.slice(copied)].join(' 1e999');
}

/** Returns the end of the string whose first character is at `start`, including its quote. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}
