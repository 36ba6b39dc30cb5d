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

/** Marks that distinguish no words, such as the nukta; all others are vowels and the like. */
const IGNORED = new RegExp(
  '(?![\\u3099\\u309a])(?:(?=\\p{M})[\\p{sc=Zinh}\\p{sc=Grek}\\p{sc=Cyrl}\\p{sc=Arab}' +
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
  // Latin strokes and ligatures, Icelandic, old Irish and old Latvian letters; Cyrillic ghe.
  'đd ðd ꝺd ꝼf ᵹg ꞡg ħh ꞣk łl ꞥn øo ꝛr ꞃr ꞧr ꞅs ꞩs ꞇt æae œoe ґг',
  // Arabic hamza, alef, yeh, kaf and heh, as the keyboards of other languages write them.
  'ٴء ٱا ىي یي کك ڪك ةه ھه ہه ۃه ەه',
  // Hebrew and Syriac letters at the end of words; Yiddish ligatures.
  'ךכ םמ ןנ ףפ ץצ ܤܣ װוו ױוי ײיי',
  // Bengali and Malayalam letters that were once written as two; Devanagari candrabindu.
  'ৎত্ ൺണ് ൻന് ർര് ൽല് ൾള് ൿക് ँं',
  // Letters that serve as apostrophes, which separate words.
  "ʻ' ʼ'",
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
  const letters = Array.from(cased.replace(IGNORED, ''), (letter) =>
    DIGIT.test(letter) ? digitOf(letter) : (REPLACEMENTS.get(letter) ?? letter),
  );
  const folded = letters.join('');
  return COMPOSED.test(folded) ? folded.normalize('NFC') : folded;
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
