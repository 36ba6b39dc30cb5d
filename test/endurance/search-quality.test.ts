// How good the search is: 2,000 notes in nine scripts and 200 queries, whose correct answers come
// from a plain scan that compares words as a collation of ICU does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuery } from '../../src/search/query.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { findIn, type Note, UNBOUNDED } from '../support/search.ts';

interface Language {
  readonly words: readonly string[];
  /** Whether spaces separate the words. */
  readonly hasSpaces: boolean;
}

const spaced = (words: string): Language => ({ words: words.split(' '), hasSpaces: true });
const unspaced = (words: string): Language => ({ words: words.split(' '), hasSpaces: false });

const LANGUAGES: readonly Language[] = [
  spaced(
    'the milk market meeting meet notes note server go going shopping list house houses café 2024',
  ),
  spaced('Straße Grüße Größe Haus Häuser Vertrag Verträge Übung über schön schon Maß Milch Käse'),
  spaced('crème brûlée été école élève français garçon où ou déjà naïve hôtel marché œuf mère'),
  spaced('tiếng Việt người nước cà phê bánh mì trường học sinh Hà Nội tiền tiên tiến'),
  spaced('молоко рынок встреча заметка сервер дом дома ёлка ещё идти список работа Москва'),
  spaced('γάλα αγορά σημείωση σπίτι λόγος λόγοι οδός δρόμος Αθήνα θάλασσα καφές φως'),
  spaced('حليب سوق اجتماع مُلاحظة بيت كتاب كَتَبَ مدرسة العربية عمل قهوة مدينة'),
  spaced('दूध बाज़ार हिन्दी भाषा घर किताब पानी काम शहर स्कूल नमस्ते दिन'),
  spaced('안녕하세요 서울 시장 우유 회의 메모 서버 집 학교 한국어 커피 서울시청 도시'),
  unspaced(
    '東京 東京都 京都 大阪 大雨 雨 牛乳 買う 会議 スカイツリー スカイ サーバー が か テスト デスク 人々 の は',
  ),
  unspaced('北京 北京市 市场 牛奶 会议 笔记 服务器 天气 下雨 大雨 学校 城市 𠮷野家 上海 海上'),
  unspaced('กรุงเทพ ประเทศไทย ตลาด นม ประชุม น้ำ บ้าน โรงเรียน รถไฟฟ้า ไฟฟ้า กาแฟ เมือง'),
];

/** Returns a sentence; its words have other forms at times, and punctuation between them. */
function sentence(random: Random, { words, hasSpaces }: Language, length: number): string {
  let text = '';
  for (let index = 0; index < length; index += 1) {
    const forms = ['NFC', 'NFD', 'NFKC'];
    const word = random.pick(words).normalize(random.pick(forms));
    text += random.oneIn(8) ? word.toUpperCase() : word;
    if (random.oneIn(6)) text += random.pick([', ', '。', '\n', ' - ', '!']);
    else if (hasSpaces) text += ' ';
  }
  return text;
}

function createNote(random: Random): Note {
  const [language, other] = [random.pick(LANGUAGES), random.pick(LANGUAGES)];
  const mixed = random.oneIn(5) ? ` ${sentence(random, other, 4)}` : '';
  return [
    sentence(random, language, 1 + random.below(4)),
    sentence(random, language, 5 + random.below(25)) + mixed,
  ];
}

interface Wish {
  readonly query: string;
  readonly isCorrect: (note: Note) => boolean;
}

const { compare } = new Intl.Collator('en', { sensitivity: 'base' });
const isSame = (one: string, other: string) => compare(one, other) === 0;
const tokensIn = (text: string) => text.normalize('NFC').split(/[^\p{L}\p{M}\p{N}]+/u);
const inEither = (isIn: (text: string) => boolean) => (note: Note) => note.some(isIn);

function wordWish(random: Random, language: Language): Wish {
  const { words, hasSpaces } = language;
  const word = random.pick(words);
  if (!hasSpaces || /\p{sc=Hang}/u.test(word)) return runWish(random, word);
  const plain = word
    .normalize('NFD')
    .replace(/(?=\p{sc=Zinh})\p{M}/gu, '')
    .normalize('NFC');
  const query = random.pick([word, plain, word.toUpperCase()]);
  return {
    query,
    isCorrect: inEither((text) => tokensIn(text).some((token) => isSame(token, word))),
  };
}

/** A wish for a part of a word, of one character or more. */
function runWish(random: Random, word: string): Wish {
  const characters = Array.from(word);
  const start = random.below(characters.length);
  const query = characters.slice(start, start + 1 + random.below(characters.length)).join('');
  return { query, isCorrect: inEither((text) => hasRun(text, query)) };
}

/** Tells whether a text contains a run, whatever punctuation is between its words. */
function hasRun(text: string, run: string): boolean {
  const [inText, inRun] = [text, run].map((each) => tokensIn(each.normalize('NFKC')).join(' '));
  return inText?.includes(inRun ?? '') === true;
}

function phraseWish(random: Random, { words, hasSpaces }: Language): Wish {
  const [one, other] = [random.pick(words), random.pick(words)];
  const query = hasSpaces ? `"${one} ${other}"` : `"${one}${other}"`;
  if (!hasSpaces || /\p{sc=Hang}/u.test(one)) {
    return { query, isCorrect: inEither((text) => hasRun(text, query.slice(1, -1))) };
  }
  const isIn = (text: string) => {
    const tokens = tokensIn(text);
    return tokens.some((token, at) => isSame(token, one) && isSame(tokens[at + 1] ?? '', other));
  };
  return { query, isCorrect: inEither(isIn) };
}

function prefixWish(random: Random): Wish {
  const word = random.pick(random.pick(LANGUAGES.slice(0, 6)).words);
  const prefix = word.slice(0, 1 + random.below(word.length));
  const startsWith = (token: string) => isSame(token.slice(0, prefix.length), prefix);
  return { query: `${prefix}*`, isCorrect: inEither((text) => tokensIn(text).some(startsWith)) };
}

function createWish(random: Random, number: number): Wish {
  const language = random.pick(LANGUAGES);
  const one = wordWish(random, language);
  const other = wordWish(random, language);
  const wishes = [
    one,
    {
      query: `${one.query} ${other.query}`,
      isCorrect: (note: Note) => one.isCorrect(note) && other.isCorrect(note),
    },
    {
      query: `${one.query} -${other.query}`,
      isCorrect: (note: Note) => one.isCorrect(note) && !other.isCorrect(note),
    },
    phraseWish(random, language),
    prefixWish(random),
  ];
  return wishes[number % wishes.length] ?? one;
}

test('search: quality: precision and recall against a plain scan', async (t) => {
  const random = createRandom(15);
  const notes = Array.from({ length: 2_000 }, () => createNote(random));
  const wishes = Array.from({ length: 200 }, (_, number) => createWish(random, number));
  const parsed = wishes.map(({ query }) => parseQuery(query, UNBOUNDED));
  const answers = await findIn(
    notes,
    parsed.map((each) => ('match' in each ? each.match : '')),
  );
  let [correct, found, both] = [0, 0, 0];
  for (const [index, { query, isCorrect }] of wishes.entries()) {
    const wanted = new Set(notes.flatMap((note, number) => (isCorrect(note) ? [number] : [])));
    const answer = answers[index] ?? [];
    const hits = answer.filter((number) => wanted.has(number)).length;
    if (hits !== answer.length || hits !== wanted.size) {
      t.diagnostic(
        `${query}: ${wanted.size} correct, ${answer.length} found, ${hits} of them correct`,
      );
    }
    correct += wanted.size;
    found += answer.length;
    both += hits;
  }
  const [precision, recall] = [both / found, both / correct];
  t.diagnostic(
    `precision ${precision.toFixed(4)}, recall ${recall.toFixed(4)}: ` +
      `${found} found, ${correct} correct`,
  );
  assert.ok(precision >= 0.99 && recall >= 0.99);
});
