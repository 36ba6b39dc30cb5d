// Snippets: where they are cut out, and what they mark.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseQuery } from '../../src/search/query.ts';
import { type Snippet, snippetOf } from '../../src/search/snippets.ts';
import { elementsOf } from '../../src/search/words.ts';
import { partsOf, queryFor, scan, UNBOUNDED } from '../support/search.ts';
import { aTerm, textOf } from '../support/search-checks.ts';

/** The length of the snippets of tests. */
const LENGTH = 160;

/** Returns the snippet for a query in the first `maxCharacters` of a text. */
function snippetFor(
  query: string,
  body: string,
  title = '',
  maxCharacters = Number.POSITIVE_INFINITY,
): Snippet {
  const parsed = parseQuery(query, UNBOUNDED);
  assert.ok('match' in parsed, query);
  return snippetOf(title, body, parsed, maxCharacters);
}

/** Returns the parts of a snippet that it marks. */
function marked({ text, ranges }: Snippet): string[] {
  const characters = Array.from(text);
  return ranges.map(([start, end]) => characters.slice(start, end).join(''));
}

const lengthOf = (text: string) => Array.from(text).length;

const CASES: readonly (readonly [query: string, body: string, marked: string[]])[] = [
  ['milk', 'Milk, milkshake and MILK', ['Milk', 'MILK']],
  ['mil*', 'Milk, milkshake 5 ml', ['Milk', 'milkshake']],
  ['"and eggs"', 'milk and,\n eggs', ['and,\n eggs']],
  ['milk -eggs', 'milk eggs', ['milk']],
  ['東京 都', '東京都と京都', ['東京', '都', '都']],
  ['京 東京', '東京', ['東京']],
  ['ああ', 'あああ い', ['あああ']],
  ['"重跑gen" a', '重跑gen a', ['重跑gen', 'a']],
  ['creme', 'cre\u0300me, Crème', ['cre\u0300me', 'Crème']],
  ['デ 会社', '𠮷㍿ ﾃﾞｽ', ['㍿', 'ﾃﾞ']],
  ['1', '⑴ a, ⒈ ⒉', ['⑴', '⒈']],
  ['"1 a"', '⑴. a', ['⑴. a']],
  ['l', 'ŀ \n', ['ŀ']],
  ['كتابهاي', 'a کتاب‌های ۲', ['کتاب‌های']],
  ['"п\'ять 2"', '𠮷 пʼять ۲', ['пʼять ۲']],
  ['ת\u05d5\u05d5', 'תװ', ['תװ']],
  ['👩', 'x👨‍👩‍👧', ['👩\u200d']],
];

for (const [query, body, expected] of CASES) {
  test(`search: snippet: ${query} in ${JSON.stringify(body)}`, () => {
    const snippet = snippetFor(query, body, 'title');
    assert.equal(snippet.text, body);
    assert.deepEqual(marked(snippet), expected);
  });
}

test('search: snippet: the beginning, if no match is known', () => {
  const body = 'x '.repeat(200);
  assert.deepEqual(snippetFor('milk', body, 'title'), { text: body.slice(0, LENGTH), ranges: [] });
  assert.deepEqual(snippetFor('milk', '', 'title'), { text: 'title', ranges: [] });
});

test('search: snippet: the title, if only it matches', () => {
  assert.deepEqual(snippetFor('milk', 'x '.repeat(200), 'Some milk'), {
    text: 'Some milk',
    ranges: [[5, 9]],
  });
});

test('search: snippet: a distant match has text before and after it', () => {
  for (const distance of [100, 3_000, 4_090, 4_200, 90_000]) {
    const snippet = snippetFor('milk', `${'x'.repeat(distance)} buy milk ${'y'.repeat(500)}`);
    assert.equal(snippet.text, `${'x'.repeat(42)} buy milk ${'y'.repeat(108)}`);
    assert.deepEqual(snippet.ranges, [[47, 51]]);
  }
});

test('search: snippet: begins after a space if one is near', () => {
  const { text } = snippetFor('milk', `${'word '.repeat(100)}milk ${'word '.repeat(100)}`);
  assert.ok(text.startsWith('word word'));
});

test('search: snippet: a match at the end shows what precedes it', () => {
  const { text, ranges } = snippetFor('雨', `${'あ'.repeat(1_000)}雨`);
  assert.deepEqual([lengthOf(text), ranges], [159, [[158, 159]]]);
});

test('search: snippet: a long match is cut', () => {
  const { text, ranges } = snippetFor('x*', 'x'.repeat(1_000));
  assert.deepEqual([text, ranges], ['x'.repeat(LENGTH), [[0, LENGTH]]]);
});

test('search: snippet: begins with a whole accented letter', () => {
  for (const end of ['', '!'])
    assert.match(snippetFor('milk', `${'e\u0301'.repeat(90)} milk${end}`).text, /^e/);
});

test('search: snippet: a character of 300 code points is cut', () => {
  const { text, ranges } = snippetFor('a', `${'b'.repeat(300)} a${'\u0301'.repeat(300)}`);
  assert.equal(lengthOf(text), LENGTH);
  assert.equal(ranges.length, 1);
});

test('search: snippet: a long phrase counts, though it ends after another match', () => {
  const phrase = 'y '.repeat(50);
  const before = snippetFor(`milk "x milk ${phrase}"`, `x milk ${phrase}z`);
  assert.deepEqual(before.ranges, [[0, 106]]);
  // It is the first match, so the snippet begins before it.
  const far = snippetFor(`milk "x milk ${phrase}"`, `${'a '.repeat(99)}x milk ${phrase.repeat(3)}`);
  assert.deepEqual(far.ranges, [[46, 152]]);
  const long = 'y '.repeat(240);
  const after = snippetFor(`milk "${long}"`, `milk x ${long}z`);
  assert.deepEqual(after.ranges, [
    [0, 4],
    [7, LENGTH],
  ]);
});

test('search: snippet: only so many characters are searched, with those they stand for', () => {
  const body = `${'x '.repeat(1_000)}milk`;
  assert.equal(snippetFor('milk', body, '', 2_004).ranges.length, 1);
  const none = { text: body.slice(0, LENGTH), ranges: [] };
  assert.deepEqual(snippetFor('milk', body, '', 2_003), none);
  const ligatures = `${'\ufdfa '.repeat(100)}milk`;
  assert.equal(snippetFor('milk', ligatures, '', 1_904).ranges.length, 1);
  assert.equal(snippetFor('milk', ligatures, '', 1_903).ranges.length, 0);
});

test('search: snippet: a word that is cut off where the search ends is no match', () => {
  assert.deepEqual(snippetFor('milk', 'milkshake', '', 4).ranges, []);
  assert.deepEqual(marked(snippetFor('mil*', 'milkshake', '', 4)), ['milk']);
  assert.deepEqual(marked(snippetFor('milk', 'milk', '', 4)), ['milk']);
});

test('search: snippet: a regular expression takes each folded word literally', () => {
  const points = Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point));
  const words = elementsOf(points.join(' ')).join(' ');
  assert.equal(/[\\^$.*+?()[\]{}|]/.exec(words), null);
});

test('search: snippet: marks matches that begin within another, or at the same place', () => {
  const query = '"a b" "b a b" a* b "a b a b c"';
  assert.deepEqual(marked(snippetFor(query, 'x a b a b c, ab b')), ['a b a b c', 'ab', 'b']);
});

test('search: snippet: marks what the query finds, and nothing else', () => {
  const terms = fc.array(aTerm, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(textOf(4), textOf(200), terms, (title, body, wanted) => {
      const query = queryFor(wanted);
      if ('fault' in parseQuery(query, UNBOUNDED)) return;
      const snippet = snippetFor(query, body, title);
      const isMatch = (text: string) =>
        wanted.some(
          (term) =>
            partsOf(term.text).length > 0 &&
            scan([['', text]], [{ ...term, isExcluded: false }]).length > 0,
        );
      assert.ok(body.includes(snippet.text) || title.includes(snippet.text));
      assert.ok(lengthOf(snippet.text) <= LENGTH);
      assert.ok(snippet.text.isWellFormed());
      let last = 0;
      for (const [start, end] of snippet.ranges) {
        assert.ok(last <= start && start < end && end <= lengthOf(snippet.text));
        last = end;
      }
      if (scan([[title, body]], wanted).length > 0) assert.notDeepEqual(snippet.ranges, []);
      if (last < lengthOf(snippet.text)) assert.ok(marked(snippet).every(isMatch));
    }),
    { numRuns: 150 },
  );
});
