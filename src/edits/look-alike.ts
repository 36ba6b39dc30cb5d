// Says why a text is not in a body that seems to have it: they differ in characters that look the
// same, which who copies from a screen, or as a model, cannot see.

/** How one character is written in several ways that look the same. */
interface Kind {
  readonly name: string;
  /** Makes all of them the same. */
  readonly fold: (text: string) => string;
  /** Says which of them a text has. */
  readonly found: (text: string) => string;
}

const LETTERS: Kind = {
  name: 'letters',
  fold: (text) => text.normalize('NFD'),
  found(text) {
    if (text === text.normalize('NFD')) return 'decomposed ones';
    return text === text.normalize('NFC') ? 'composed ones' : 'several forms';
  },
};

/** The kinds of single characters, but for CR LF. */
const CHARACTERS: readonly Kind[] = [
  kindOf('line ends', /\r\n?|[\n\u0085\u2028\u2029]/g, '\n'),
  kindOf('kinds of space', /[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, ' '),
  kindOf('double quotes', /["\u00ab\u00bb\u201c-\u201f\u2033]/g, '"'),
  kindOf('single quotes', /['\u2018-\u201b\u2032\u2039\u203a]/g, "'"),
];

/** All units of UTF-16 up to the last one of a kind. */
const UNITS = String.fromCharCode(...Array(0x3001).keys());

/** What they are folded to: to look that up takes a tenth of the time that each match takes. */
const FOLDED = foldUnits();

const LF = 0x0a;
const CR = 0x0d;

/** How many characters of a kind are named. */
const MAX_NAMED = 4;

/** Longer texts are not compared, which would take long. */
const MAX_TEXT = 10_000;

/** As many marks on one letter: normalizing them takes long. */
const MANY_MARKS = /\p{M}{9}/u;

/** What must not be cut, in units of UTF-16: what follows would be counted apart. */
const PAIR = /^(?:\r\n|[\ud800-\udbff][\udc00-\udfff])$/;

/** Says how the first passage of `body` that looks like `text` differs; empty if there is none. */
export function describeLookAlike(body: string, text: string): string {
  if (text.length > MAX_TEXT || MANY_MARKS.test(text) || MANY_MARKS.test(body)) return '';
  const wanted = fold(text);
  const at = indexOf(fold(body), wanted);
  if (at === -1) return '';
  const rest = body.slice(placeIn(body, at));
  const passage = rest.slice(0, placeIn(rest, wanted.length));
  // A letter without its accent is found in one with it.
  if (!isSame(fold(passage), wanted)) return '';
  const kinds = [LETTERS, ...CHARACTERS];
  const differing = kinds.filter((kind) => !isSame(fold(passage, kind), fold(text, kind)));
  const named = differing.map(({ name, found }) => `${name} (the body has ${found(passage)})`);
  return `: a passage differs only in ${named.join(' and ')}`;
}

function kindOf(name: string, members: RegExp, plain: string): Kind {
  return {
    name,
    fold: (text) => text.replace(members, plain),
    found: (text) => [...new Set(text.match(members))].slice(0, MAX_NAMED).map(code).join(', '),
  };
}

/** Returns the code points of a text, such as U+000D U+000A. */
function code(text: string): string {
  const points = [...text].map((each) => each.codePointAt(0)?.toString(16).toUpperCase());
  return points.map((each) => `U+${each?.padStart(4, '0')}`).join(' ');
}

function foldUnits(except?: Kind): string {
  const kinds = CHARACTERS.filter((kind) => kind !== except);
  return kinds.reduce((folded, kind) => kind.fold(folded), UNITS);
}

/** Makes all units the same that look the same, but for those of one kind. */
function fold(text: string, except?: Kind): Uint16Array {
  const from = except === LETTERS ? text : LETTERS.fold(text);
  const folded = except ? foldUnits(except) : FOLDED;
  const isOneEnd = folded[CR] === '\n';
  const units = new Uint16Array(from.length);
  let length = 0;
  let before = 0;
  for (let index = 0; index < from.length; index += 1) {
    const unit = from.charCodeAt(index);
    if (unit !== LF || before !== CR || !isOneEnd) {
      units[length] = unit < folded.length ? folded.charCodeAt(unit) : unit;
      length += 1;
    }
    before = unit;
  }
  return units.subarray(0, length);
}

function isSame(units: Uint16Array, others: Uint16Array): boolean {
  return units.length === others.length && units.every((unit, index) => unit === others[index]);
}

/** Returns the first index of `part`, in linear time (by Knuth, Morris and Pratt), or -1. */
function indexOf(units: Uint16Array, part: Uint16Array): number {
  // The length of the longest beginning of `part` that ends at each of its places, but the whole.
  const lengths = new Uint32Array(part.length);
  const extend = (length: number, unit: number | undefined) => {
    let most = length;
    while (most > 0 && unit !== part[most]) most = lengths[most - 1] ?? 0;
    return unit === part[most] ? most + 1 : most;
  };
  for (let place = 1; place < part.length; place += 1)
    lengths[place] = extend(lengths[place - 1] ?? 0, part[place]);
  let length = 0;
  for (let index = 0; index < units.length; index += 1) {
    length = extend(length, units[index]);
    if (length === part.length) return index + 1 - length;
  }
  return -1;
}

/** Returns where in `text` the first `length` units of its folded form end. */
function placeIn(text: string, length: number): number {
  let place = 0;
  let left = length;
  // In ever smaller steps.
  for (const step of [4_096, 64, 1]) {
    while (place < text.length) {
      const isPair = PAIR.test(text.slice(place + step - 1, place + step + 1));
      const end = place + step + Number(isPair);
      const folded = fold(text.slice(place, end)).length;
      if (folded > left) break;
      place = end;
      left -= folded;
    }
  }
  return place;
}
