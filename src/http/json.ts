// Strict JSON (RFC 8259). `JSON.parse` accepts any depth of nesting and cannot tell `4.0` from `4`,
// so the text itself is checked first.
import { isUtf8 } from 'node:buffer';
import { Problem } from './problem.ts';

/** How deeply arrays and objects may be nested (RFC 8259, section 9 allows a limit). */
export const MAX_NESTING_LEVELS = 1_000;

/**
 * Parses the bytes of a JSON text. An integer that is written as a float (`4.0`, `4e0`) becomes
 * null, so that no schema accepts it as an integer; the rest is as in `JSON.parse`. Throws a
 * bad-request {@link Problem} if the bytes are not UTF-8, not JSON, or nested too deeply.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0)
    throw new Problem('bad-request', 'The body is empty; a JSON text is expected.');
  if (!isUtf8(bytes)) throw new Problem('bad-request', 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  const checked = needsCheck(text) ? checkTokens(text) : text;
  try {
    return JSON.parse(checked);
  } catch (cause) {
    // The parser's message quotes the body, so it is not sent.
    throw new Problem('bad-request', 'The body is not valid JSON.', { cause });
  }
}

/** Whether a text may be nested too deeply or contain a float; most bodies cannot. */
function needsCheck(text: string): boolean {
  return text.length > MAX_NESTING_LEVELS || /\d[.eE]/.test(text);
}

/**
 * Limits the nesting and replaces integers that are written as floats. It replaces one whole token
 * with another, so an invalid text stays invalid and a valid one valid.
 */
function checkTokens(text: string): string {
  const token = /["[\]{}]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let checked = '';
  let copied = 0;
  let depth = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') {
      token.lastIndex = endOfString(text, match.index + 1);
    } else if (found === '[' || found === '{') {
      depth += 1;
      if (depth > MAX_NESTING_LEVELS)
        throw new Problem('bad-request', 'The body is nested too deeply.');
    } else if (found === ']' || found === '}') {
      depth -= 1;
    } else if (isIntegralFloat(found)) {
      checked += `${text.slice(copied, match.index)}null`;
      copied = token.lastIndex;
    }
  }
  return copied === 0 ? text : checked + text.slice(copied);
}

/** Whether a number is written as a float but has an integer or no finite value. */
function isIntegralFloat(number: string): boolean {
  return (
    /[.eE]/.test(number) && (Number.isInteger(Number(number)) || !Number.isFinite(Number(number)))
  );
}

/**
 * Returns the index after the closing quote of the string that begins at `start`, or the end of the
 * text.
 */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return text.length;
}
