// Finds the first fault of a text that `JSON.parse` has refused, and says where it is: the messages
// of `JSON.parse` quote the text, and differ between versions of Node.

const STRING = String.raw`"(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*`;
const NUMBER =
  String.raw`(?=[-\d])-?(?:0|[1-9]\d*)?` +
  String.raw`(?:(?<=\d)\.(?:\d+|(?!\d)))?(?:(?<=\d)[eE][+-]?\d*)?`;
/** White space, then a token or as much of one as there is; the last group ends a string. */
const TOKEN = new RegExp(
  String.raw`([ \t\n\r]*)(${STRING}(?:(")|\\(?:u[\dA-Fa-f]{0,3})?)?|${NUMBER}|` +
    't(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|[[\\]{},:])?',
  'y',
);
/** How many tokens may precede a fault that is found: more would delay other requests. */
const MAX_TOKENS = 100_000;
const WHOLE = /^(?:-?\d(?:.*\d)?|true|false|null|[[{])$/;
const VALUE = 'a value';
const NAME = 'a name in double quotes';
/** How messages call characters that cannot be seen or need a hint. */
const FOUND: Readonly<Record<string, string>> = {
  '\n': 'a line feed, which is \\n in a string',
  '\r': 'a carriage return, which is \\r in a string',
  '\t': 'a tab, which is \\t in a string',
  "'": "' (strings have double quotes)",
  '\ufeff': 'a byte order mark',
};

/** Says where in its source a text ends. Columns are code points, counted from 1. */
export type Place = (text: string) => string;

/** The {@link Place} of a text that is a part of a line. */
export const columnAfter: Place = (text) => `column ${[...text].length + 1}`;

/** Returns the {@link Place} of a text that follows `before` in a body. */
export function placeAfter(before: Buffer): Place {
  return (text) => {
    const whole = `${before}${text}`;
    const start = whole.lastIndexOf('\n') + 1;
    const line = whole.slice(0, start).split('\n').length;
    return `line ${line}, ${columnAfter(whole.slice(start))}`;
  };
}

/** Returns the index of the first character of `text` that stands for bytes not in UTF-8. */
export function firstReplaced(bytes: Buffer, text: string): number {
  // U+FFFD may have been sent as well, so look for the first difference.
  const encoded = Buffer.from(text);
  let end = encoded.findIndex((byte, index) => byte !== bytes[index]);
  // The bytes of a character that is cut off may begin like those of U+FFFD.
  while (((encoded[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end).length;
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
    if ((isName || isValue) && !quote && !WHOLE.test(token))
      return { index, expected: restOf(token) };
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

function restOf(token: string): string {
  if (/^[-\d]/.test(token)) return 'a digit';
  if (!token.startsWith('"')) return 'true, false or null';
  return 'the rest of a string';
}
