// How the search sees a character: its kind, and the characters that it is compared as. Each code
// point is folded alone, because normalising a long text takes quadratic time in the worst case.

/** What a folded code point is to the words around it; 0 stands for a kind that is unknown. */
export const Kind = {
  separator: 1,
  letter: 2,
  /** Belongs to a script without spaces between words. */
  spaceless: 3,
  /** As spaceless, but may form one character with its predecessor: か and a voiced mark. */
  joining: 4,
  emoji: 5,
  /** Is skipped: an accent, a variation selector, an invisible character. */
  ignored: 6,
  /** Stands for other code points, each of a kind of its own. */
  replaced: 7,
} as const;

/**
 * Marks that distinguish no words, as the nukta of loan words; all others are vowels and the like.
 * Three are letters to Unicode: the Arabic tatweel, small waw and small yeh.
 */
const IGNORED = new RegExp(
  '(?![\\u3099\\u309a])(?:(?=\\p{M})[\\p{sc=Zinh}\\p{sc=Latn}\\p{sc=Grek}\\p{sc=Cyrl}\\p{sc=Arab}' +
    '\\p{sc=Hebr}\\p{sc=Syrc}\\u093c\\u0a3c\\u0abc]|' +
    '[\\p{Default_Ignorable_Code_Point}\\p{Emoji_Modifier}\\u0640\\u06e5\\u06e6])',
  'gu',
);
const SPACELESS = new RegExp(
  '^(?=[\\p{L}\\p{M}\\p{N}])[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}' +
    '\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}]',
  'u',
);
const DIGIT = /\p{Nd}/u;
const LETTER = /^[\p{L}\p{M}\p{N}]/u;
const EMOJI = /^[\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
/** The voiced marks of kana, and the vowels and final consonants of Hangul. */
const JOINING = /^[\u3099\u309a\u1161-\u1175\u11a8-\u11c2]/;
/** Kana and Hangul, whose decomposition is composed again. */
const COMPOSED = /[\u3040-\u30ff\u1100-\u11ff]/;

/** Letters that readers take for others, though Unicode does not; each with what it is read as. */
const READ_AS = [
  // Strokes, ligatures, the letters of Icelandic, old Irish and old Latvian; Cyrillic ghe.
  'đd ðd ꝺd ꝼf ᵹg ꞡg ħh ꞣk łl ꞥn øo ꝛr ꞃr ꞧr ꞅs ꞩs ꞇt æae œoe ґг',
  // Arabic hamza, alef, yeh and kaf, as the keyboards of several languages write them; and heh.
  '\u0674\u0621 \u0671\u0627 \u0649\u064a \u06cc\u064a \u06a9\u0643 \u06aa\u0643',
  '\u0629\u0647 \u06be\u0647 \u06c1\u0647 \u06c3\u0647 \u06d5\u0647',
  // Forms at the end of words, of Hebrew kaf, mem, nun, pe, tsadi and Syriac semkath.
  '\u05da\u05db \u05dd\u05de \u05df\u05e0 \u05e3\u05e4 \u05e5\u05e6 \u0724\u0723',
  // Letters that were once written as two: of Yiddish, of Bengali and Malayalam.
  '\u05f0\u05d5\u05d5 \u05f1\u05d5\u05d9 \u05f2\u05d9\u05d9 \u09ce\u09a4\u09cd \u0d7a\u0d23\u0d4d',
  '\u0d7b\u0d28\u0d4d \u0d7c\u0d30\u0d4d \u0d7d\u0d32\u0d4d \u0d7e\u0d33\u0d4d \u0d7f\u0d15\u0d4d',
  // Devanagari candrabindu; the letters for an apostrophe, which separates words.
  "\u0901\u0902 ʻ' ʼ'",
];
const REPLACEMENTS = new Map(
  READ_AS.flatMap((pairs) => pairs.split(' ')).map((pair) => [pair.slice(0, 1), pair.slice(1)]),
);

/** The kinds of all code points that have occurred. */
const kinds = new Uint8Array(0x110000);
const replacements = new Map<number, readonly number[]>();

/** Returns the kind of a code point. */
export function kindOf(point: number): number {
  return kinds[point] || learn(point);
}

/** Returns the code points that one of the kind `replaced` stands for. */
export function replacementOf(point: number): readonly number[] {
  return replacements.get(point) ?? [];
}

function learn(point: number): number {
  const character = String.fromCodePoint(point);
  const folded = fold(character);
  let kind = plainKindOf(character);
  if (folded === '') kind = Kind.ignored;
  else if (folded !== character) {
    kind = Kind.replaced;
    const points = Array.from(folded, (each) => each.codePointAt(0) ?? 0);
    replacements.set(point, points);
  }
  kinds[point] = kind;
  return kind;
}

/** Folds the upper case after the lower case as well: ß is SS, and ς is Σ. */
function fold(character: string): string {
  const base = character.normalize('NFKD').replace(IGNORED, '');
  const cased = base.toLowerCase().toUpperCase().toLowerCase().normalize('NFKD');
  const folded = Array.from(cased.replace(IGNORED, ''), plainFormOf).join('');
  return COMPOSED.test(folded) ? folded.normalize('NFC') : folded;
}

function plainFormOf(letter: string): string {
  return DIGIT.test(letter) ? digitOf(letter) : (REPLACEMENTS.get(letter) ?? letter);
}

/** The digits of a script follow each other, from 0 to 9. */
function digitOf(digit: string): string {
  const point = digit.codePointAt(0) ?? 0;
  let zero = point;
  while (DIGIT.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((point - zero) % 10);
}

function plainKindOf(character: string): number {
  if (JOINING.test(character)) return Kind.joining;
  if (SPACELESS.test(character)) return Kind.spaceless;
  if (LETTER.test(character)) return Kind.letter;
  return EMOJI.test(character) ? Kind.emoji : Kind.separator;
}
