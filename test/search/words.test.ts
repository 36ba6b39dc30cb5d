// The words of texts in many scripts, and their places in the texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FoldedText } from '../../src/search/folded-text.ts';
import { indexedText } from '../../src/search/words.ts';
import { anyCharacter } from '../support/any-character.ts';

const TEXTS: readonly (readonly [string, string, string])[] = [
  ['English', "It's gen-itgc, isn't it? A_b 3.14", 'it s gen itgc isn t it a b 3 14'],
  ['German', 'STRASSE Straße Ärger ẞ', 'strasse strasse arger ss'],
  ['French', 'Crème cre\u0300me œuvre', 'creme creme oeuvre'],
  ['Turkish', 'İSTANBUL ısı', 'istanbul isi'],
  ['Polish and Danish', 'Łódź smørrebrød', 'lodz smorrebrod'],
  ['Vietnamese', 'Tiếng Việt, đường', 'tieng viet duong'],
  ['Greek', 'ΟΔΌΣ οδός ᾳ α\u{1d242}β', 'οδοσ οδοσ α αβ'],
  ['Cyrillic', 'Ёлка ЙОД бг\u0483ъ', 'елка иод бгъ'],
  ['apostrophes', "п'ять п’ять пʼять пʻять п＇ять", 'п ять п ять п ять п ять п ять'],
  ['Arabic', 'مُحَمَّد كتـــاب ﷲ لَهُۥ بِهِۦ ٱلۡحمد', 'محمد كتاب الله له به الحمد'],
  ['Hebrew', 'שָׁלוֹם', 'שלומ'],
  ['Devanagari', 'हिन्दी', 'हिन्दी'],
  ['Chinese', '重跑gen-itgc后', '重跑 跑 gen itgc 后'],
  ['Japanese', '東京都へ。ガ行', '東京 京都 都へ へ ガ行 行'],
  ['half-width kana', 'ﾃﾞｽｸ ﾊﾟ ﾃｽﾄ', 'デス スク ク パ テス スト ト'],
  ['voiced kana', 'か が か\u3099', 'か が が'],
  ['iteration and prolonged sound marks', '人々 コーヒー', '人々 々 コー ーヒ ヒー ー'],
  ['full-width letters', 'ＡＢＣ１２', 'abc12'],
  ['squares and fractions', '㍿ ½ ㎏', '株式 式会 会社 社 1 2 kg'],
  ['Korean', '안녕하 각', '안녕 녕하 하 각'],
  ['decomposed Korean', '안녕하 각'.normalize('NFD'), '안녕 녕하 하 각'],
  ['Thai', 'ที่', 'ที ี่ ่'],
  ['Syriac', 'ܫܠܳܡܳܐ', 'ܫܠܡܐ'],
  ['Lao', 'ລາວ', 'ລາ າວ ວ'],
  ['Khmer', 'ខ្មែរ', 'ខ្ ្ម មែ ែរ រ'],
  ['Burmese', 'မြန်မာ', 'မြ ြန န် ်မ မာ ာ'],
  ['rare Han', '𠮷野家', '𠮷野 野家 家'],
  ['emoji', 'a👍b👍🏽❤️', 'a 👍 b 👍 ❤'],
  ['families of emoji', '👨‍👩‍👧', '👨 👩 👧'],
  ['flags', '🇯🇵', '🇯 🇵'],
  ['invisible characters', 'co\u00adop\ufeff 葛\u{e0100}城', 'coop 葛城 城'],
  ['control characters', 'a\0b\x01c\x7fd', 'a b c d'],
  ['punctuation alone', '!?、。\u0301 "*^:{}', ''],
  ['nothing', '', ''],
];

for (const [name, text, expected] of TEXTS) {
  test(`search: words: ${name}`, () => {
    assert.equal(indexedText(text).trim(), expected);
  });
}

/** Letters that stand for one; they do so inside a word, and their places remain right. */
const SAME_LETTERS: Record<string, string> = {
  'Arabic yeh': 'ي ی ى ئ',
  'Arabic kaf': 'ك ک ڪ',
  'Arabic heh': 'ه ہ ھ ة ۃ ە ۀ ۂ',
  'Arabic alef': 'ا ٱ أ إ آ',
  'Arabic hamza': 'ء ٴ',
  'Hebrew kaf': 'כ ך',
  'Hebrew mem': 'מ ם',
  'Hebrew nun': 'נ ן',
  'Hebrew pe': 'פ ף',
  'Hebrew tsadi': 'צ ץ',
  'Yiddish double vav': 'וו װ',
  'Yiddish vav yod': 'וי ױ',
  'Yiddish double yod': 'יי ײ',
  'Syriac semkath': 'ܣ ܤ',
  'Cyrillic ghe': 'г ґ Ґ',
  'Latin d': 'd đ ð ꝺ Ð',
  'Latin f': 'f ꝼ',
  'Latin g': 'g ᵹ ꞡ',
  'Latin h': 'h ħ',
  'Latin k': 'k ꞣ',
  'Latin l': 'l ł',
  'Latin n': 'n ꞥ',
  'Latin o': 'o ø',
  'Latin r': 'r ꝛ ꞃ ꞧ',
  'Latin s': 's ꞅ ꞩ ſ',
  'Latin t': 't ꞇ',
  'Latin ae': 'ae æ Ǽ',
  'Latin oe': 'oe œ',
  'Bengali khanda ta': 'ত্ ৎ ত্\u200d',
  'Malayalam n': 'ന് ൻ ന്\u200d',
  'Malayalam nn': 'ണ് ൺ',
  'Malayalam r': 'ര് ർ',
  'Malayalam l': 'ല് ൽ',
  'Malayalam ll': 'ള് ൾ',
  'Malayalam k': 'ക് ൿ',
  'Devanagari nasals': 'हंस हँस',
  'Devanagari nukta': 'ज ज़ ज़',
  'Gurmukhi nukta': 'ਸ ਸ਼',
  'Gujarati nukta': 'જ જ઼',
  'digits of many scripts': '2027 ٢٠٢٧ ۲۰۲۷ २०२७ ২০২৭ ๒๐๒๗ ២០២៧ ２０２７ 𝟚𝟘𝟚𝟟 𞥒𞥐𞥒𞥗',
};

for (const [name, all] of Object.entries(SAME_LETTERS)) {
  test(`search: words: the same letter: ${name}`, () => {
    const [one = '', ...others] = all.split(' ');
    for (const other of others) {
      const folded = new FoldedText(`- ${other}x`);
      assert.equal(folded.text, ` ${one}x `, other);
      const end = folded.text.length - 2;
      assert.deepEqual([folded.startOf(1), folded.endOf(end)], [2, 2 + other.length], other);
    }
  });
}

test('search: words: every digit is that of its value', () => {
  const collator = new Intl.Collator('en', { usage: 'search', sensitivity: 'base' });
  for (let point = 0x80; point < 0x20000; point += 1) {
    const digit = String.fromCodePoint(point);
    if (!/\p{Nd}/u.test(digit)) continue;
    const word = indexedText(digit).trim();
    assert.match(word, /^[0-9]$/, digit);
    assert.equal(collator.compare(word, digit), 0, digit);
  }
});

test('search: words: a long word is cut between characters', () => {
  assert.equal(indexedText('x'.repeat(100_000)).trim(), 'x'.repeat(512));
  assert.equal(indexedText(`x${'𝼀'.repeat(400)}`).trim(), `x${'𝼀'.repeat(255)}`);
});

const anyText = fc.string({ unit: anyCharacter, maxLength: 60 });

test('search: words: the words of the index are words themselves', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const word of indexedText(text).split(' ').slice(0, -1)) {
        assert.match(word, /^[^\0-\x20A-Z\x7f]+$/);
        assert.ok(word.isWellFormed());
        assert.ok(indexedText(word).startsWith(word));
      }
    }),
  );
});

test('search: words: normalisation changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
      for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) {
        assert.equal(indexedText(text.normalize(form)), indexedText(text));
      }
    }),
  );
});
