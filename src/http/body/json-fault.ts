// Finds the first fault of a text that `JSON.parse` has refused, and says where it is: the messages
// of `JSON.parse` quote the text, and differ between versions of Node.

/** White space, then a token, or a string as far as it is valid; the last group is its end. */
const TOKEN = new RegExp(
  String.raw`([ \t\n\r]*)("(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*("?)|` +
    String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{},:])?`,
  'y',
);
/** How many tokens may precede a fault that is found: more would delay other requests. */
const MAX_TOKENS = 100_000;
const VALUE = 'a value';
const NAME = 'a name in double quotes';
/** How messages call characters that cannot be seen or need a hint. */
const FOUND: Readonly<Record<string, string>> = {
  '\n': 'a line feed, which is \\n in a string',
  "'": "' (strings have double quotes)",
  '\ufeff': 'a byte order mark',
};

/** Says where in its source a text ends. Columns are code points, counted from 1. */
export type Place = (text: string) => string;

/** The {@link Place} of a text that is a part of a line. */
export const columnAfter: Place = (text) => {
  let column = 1;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
    column += 1;
  return `column ${column}`;
};

/** Returns the {@link Place} of a text that follows `before` in a body. */
export function placeAfter(before: Buffer): Place {
  return (text) => {
    const whole = `${before}${text}`;
    const start = whole.lastIndexOf('\n') + 1;
    const line = whole.slice(0, start).split('\n').length;
    return `line ${line}, ${columnAfter(whole.slice(start))}`;
  };
}

/** Describes the first fault, quoting one character at most; undefined if too much precedes it. */
export function describeFault(text: string) {
  const { index, expected } = findFault(text);
  if (expected === undefined) return undefined;
  const code = text.codePointAt(index);
  if (code === undefined) return { index, what: `it ends too early, expected ${expected}` };
  const character = String.fromCodePoint(code);
  const name = /[!-~]/.test(character)
    ? character
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return { index, what: `expected ${expected}, found ${FOUND[character] ?? name}` };
}

function findFault(text: string): { readonly index: number; readonly expected?: string } {
  /** The ends of the open arrays and objects. */
  const ends: string[] = [];
  let expected = VALUE;
  let index = 0;
  for (let tokens = 0; tokens < MAX_TOKENS; tokens += 1) {
    TOKEN.lastIndex = index;
    const [, spaces = '', token = '', quote] = TOKEN.exec(text) ?? [];
    index += spaces.length;
    const end = ends.at(-1) ?? '';
    const isName = expected.startsWith(NAME) && token.startsWith('"');
    const isValue = expected.startsWith(VALUE) && /^["\-\dtfn[{]/.test(token);
    if (token !== '' && token === end && expected.endsWith(end)) ends.pop();
    else if (!isName && !isValue && !(/[,:]/.test(token) && expected.startsWith(token)))
      return { index, expected };
    index += token.length;
    if (quote === '') return { index, expected: 'the rest of a string' };
    if (token === '{' || token === '[') {
      ends.push(token === '{' ? '}' : ']');
      expected = token === '{' ? `${NAME} or }` : `${VALUE} or ]`;
    } else if (token === ',') expected = end === '}' ? NAME : VALUE;
    else if (token === ':') expected = VALUE;
    else if (isName) expected = ':';
    else expected = ends.length === 0 ? 'the end' : `, or ${ends.at(-1)}`;
  }
  return { index };
}
