// Strict JSON (RFC 8259) from bytes: what `JSON.parse` is too kind to tell apart is settled on the text itself.
import { isUtf8 } from 'node:buffer';
import { Problem } from './problem.ts';

/** Arrays and objects may stand inside each other this deep; a parser must set some limit (RFC 8259, section 9). */
export const MAX_NESTING_LEVELS = 1_000;

/**
 * Parses the bytes of a JSON text. A number written as a float whose value is an integer (`4.0`, `4e0`) comes back as
 * null, so that no schema takes it for an integer: JavaScript has one type for both. All else is as in `JSON.parse`.
 * Throws a bad-request {@link Problem} if the bytes are not UTF-8, not JSON, or nested too deep.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Problem('bad-request', 'The body is empty; a JSON text is expected.');
  if (!isUtf8(bytes)) throw new Problem('bad-request', 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  const looked = needsLook(text) ? lookAtTokens(text) : text;
  try {
    return JSON.parse(looked);
  } catch (cause) {
    // The parser's message quotes the input; it stays inside.
    throw new Problem('bad-request', 'The body is not valid JSON.', { cause });
  }
}

/** Most bodies are short and hold nothing that looks like a float: they need no second look. */
function needsLook(text: string): boolean {
  return text.length > MAX_NESTING_LEVELS || /\d[.eE]/.test(text);
}

/**
 * Walks over the tokens outside strings: bounds the nesting, and replaces integers that are written as floats. What it
 * matches is a whole JSON number and what it puts there a whole token, so no bad text becomes good or the reverse.
 */
function lookAtTokens(text: string): string {
  const token = /["[\]{}]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let looked = '';
  let copied = 0;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') {
      token.lastIndex = endOfString(text, match.index + 1);
    } else if (found === '[' || found === '{') {
      depth += 1;
      if (depth > MAX_NESTING_LEVELS) throw new Problem('bad-request', 'The body is nested too deep.');
    } else if (found === ']' || found === '}') {
      depth -= 1;
    } else if (/[.eE]/.test(found) && (Number.isInteger(Number(found)) || !Number.isFinite(Number(found)))) {
      looked += `${text.slice(copied, match.index)}null`;
      copied = token.lastIndex;
    }
  }
  return copied === 0 ? text : looked + text.slice(copied);
}

/** The index after the quote that ends the string whose content starts at `start`; the text's end if there is none. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}
