// Snippets: where they are cut out, and what they mark.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FOLD_LIMITS } from '../../src/search/folded-text.ts';
import { parseQuery } from '../../src/search/query.ts';
import { type Snippet, snippetOf } from '../../src/search/snippet.ts';
import { setLimits } from '../support/overload.ts';
import { partsOf, queryFor, scan, UNBOUNDED } from '../support/search.ts';
import { aTerm, textOf } from '../support/search-checks.ts';

/** The length of the snippets of tests. */
const LENGTH = 160;

/** More than any test searches. */
const MUCH = 1e9;

/** Returns the snippet for a query, and how often the search has paused. */
function searchSnippet(query: string, body: string, title = '', units = MUCH) {
  const parsed = parseQuery(query, UNBOUNDED);
  assert.ok('match' in parsed, query);
  const search = snippetOf(title, body, parsed, LENGTH, { units });
  let pauses = 0;
  for (;;) {
    const { done, value } = search.next();
    if (done) return { snippet: value satisfies Snippet, pauses };
    pauses += 1;
  }
}

function snippetFor(query: string, body: string, title = ''): Snippet {
  return searchSnippet(query, body, title).snippet;
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

test('search: snippet: a word that is cut off in the part folded first is no match', () => {
  const body = `${'x '.repeat(2_046)}milkshake MILK`;
  assert.deepEqual(marked(snippetFor('milk', body)), ['MILK']);
});

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

test('search: snippet: pieces of any length give that of the whole text', (t) => {
  const terms = fc.array(aTerm, { minLength: 1, maxLength: 4 });
  const lead = fc.tuple(fc.constantFrom('x ', 'あ', '\u0301', '. ', '\ufdfa'), fc.nat(600));
  const length = fc.integer({ min: 1, max: 40 });
  setLimits(t, FOLD_LIMITS, {});
  fc.assert(
    fc.property(
      lead,
      textOf(40),
      textOf(200),
      terms,
      length,
      (before, text, rest, wanted, size) => {
        const query = queryFor(wanted);
        if ('fault' in parseQuery(query, UNBOUNDED)) return;
        const body = before[0].repeat(before[1]) + text + before[0].repeat(before[1]) + rest;
        FOLD_LIMITS.pieceUnits = size;
        const snippet = snippetFor(query, body);
        FOLD_LIMITS.pieceUnits = body.length;
        assert.deepEqual(snippet, snippetFor(query, body));
      },
    ),
    { numRuns: 200 },
  );
});

test('search: snippet: a mark at the beginning of a piece belongs to the last character', (t) => {
  setLimits(t, FOLD_LIMITS, { pieceUnits: 1 });
  assert.deepEqual(marked(snippetFor('か', `か\u3099${' x'.repeat(100)} か`)), ['か']);
});

test('search: snippet: a long phrase counts, though it ends after another match', (t) => {
  setLimits(t, FOLD_LIMITS, { pieceUnits: 5 });
  const phrase = 'y '.repeat(50);
  const before = searchSnippet(`milk "x milk ${phrase}"`, `x milk ${phrase}z`);
  assert.deepEqual(before.snippet.ranges, [[0, 106]]);
  // It is the first match, so the snippet begins before it.
  const far = searchSnippet(
    `milk "x milk ${phrase}"`,
    `${'a '.repeat(99)}x milk ${phrase.repeat(3)}`,
  );
  assert.deepEqual(far.snippet.ranges, [[46, 152]]);
  const long = 'y '.repeat(240);
  const after = searchSnippet(`milk "${long}"`, `milk x ${long}z`);
  assert.deepEqual(after.snippet.ranges, [
    [0, 4],
    [7, LENGTH],
  ]);
});

test('search: snippet: the search ends at the first match, or where the effort is spent', (t) => {
  setLimits(t, FOLD_LIMITS, { pieceUnits: 100 });
  const body = `${'x '.repeat(1_000)}milk ${'x '.repeat(10_000)}`;
  const found = searchSnippet('milk', body);
  assert.equal(found.pauses, 22);
  assert.equal(found.snippet.ranges.length, 1);
  // A code unit counts twice: before and after it is folded.
  const spent = searchSnippet('milk', body, '', 2_000);
  assert.deepEqual(spent, { snippet: { text: body.slice(0, LENGTH), ranges: [] }, pauses: 11 });
});

test('search: snippet: the first piece of a body and of a title is always searched', () => {
  const title = searchSnippet('milk', 'x '.repeat(10_000), 'Some milk', 0);
  assert.deepEqual(title, { snippet: { text: 'Some milk', ranges: [[5, 9]] }, pauses: 2 });
  assert.deepEqual(marked(searchSnippet('milk', 'milk', '', 0).snippet), ['milk']);
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
