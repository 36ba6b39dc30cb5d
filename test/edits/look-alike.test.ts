// Texts that are not in a body, but look as if they were: which of their characters differ.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describeLookAlike } from '../../src/edits/look-alike.ts';

const CRLF = 'line ends (the body has U+000D U+000A)';
const DECOMPOSED = 'letters (the body has decomposed ones)';
const COMPOSED = 'letters (the body has composed ones)';
const only = (...kinds: string[]) => `: a passage differs only in ${kinds.join(' and ')}`;
const space = (codes: string) => only(`kinds of space (the body has ${codes})`);
const quotes = (codes: string) => only(`double quotes (the body has ${codes})`);
const apostrophes = (codes: string) => only(`single quotes (the body has ${codes})`);

test('look-alike: what differs, and what the body has', () => {
  for (const [body, text, hint] of [
    ['a\r\nb\r\n', 'a\nb\n', only(CRLF)],
    ['a\nb', 'a\r\nb', only('line ends (the body has U+000A)')],
    ['a\rb\u2028c', 'a\nb\nc', only('line ends (the body has U+000D, U+2028)')],
    ['\n\u2029a\r', '\u2029a\r\n', only('line ends (the body has U+2029, U+000D)')],
    ['cafe\u0301', 'caf\u00e9', only(DECOMPOSED)],
    ['caf\u00e9', 'cafe\u0301', only(COMPOSED)],
    // Windows writes Vietnamese in neither form.
    ['\u1ec7', '\u00ea\u0323', only(COMPOSED)],
    ['\ud55c\uae00', '\ud55c\uae00'.normalize('NFD'), only(COMPOSED)],
    ['\u00e9e\u0301', '\u00e9\u00e9', only('letters (the body has several forms)')],
    ['\u{1d15e}', '\u{1d15e}'.normalize('NFD'), only('letters (the body has several forms)')],
    ['\u201ca\u201d', '"a"', quotes('U+201C, U+201D')],
    ['\u201ea\u201c', '\u00aba\u00bb', quotes('U+201E, U+201C')],
    ['"a"', '\u201ca\u201d', quotes('U+0022')],
    ['it\u2019s', "it's", apostrophes('U+2019')],
    ['a\u00a0b', 'a b', space('U+00A0')],
    ['a b', 'a\u00a0b', space('U+0020')],
    ['\ta\u3000b c', '\ta b c', space('U+0009, U+3000, U+0020')],
    ['a\u2002\u2003\u2004\u2005\u2006b', 'a     b', space('U+2002, U+2003, U+2004, U+2005')],
    ['x\r\n\u201ce\u0301\u201d y', 'x\n"\u00e9"\u00a0y', undefined],
    ['\u{1f600}a\r\nb\u{1f600}', 'a\nb\u{1f600}', only(CRLF)],
    ['aaab\r\n', 'aab\n', only(CRLF)],
    ['b', 'a', ''],
    ['a  b', 'a b', ''],
    ['a \nb', 'a\nb', ''],
    ['caf\u00e9', 'cafe', ''],
    ['\ud55c', '\ud558', ''],
    ['a\u2014b', 'a-b', ''],
    ['A', 'a', ''],
  ] as const) {
    const all = [DECOMPOSED, CRLF, 'kinds of space (the body has U+0020)'];
    const expected = hint ?? only(...all, 'double quotes (the body has U+201C, U+201D)');
    for (const before of ['', 'e\u0301\r\n\u1ec7\u{1d15e} '.repeat(1_000)])
      assert.equal(describeLookAlike(`${before}|${body}`, text), expected, JSON.stringify(body));
  }
});

test('look-alike: any passage is found wherever it is, whatever is around it', () => {
  const forms = ['\n', ' ', '"', "'", '\u00e9', 'a', '\ud55c', '\u{1f600}'];
  const others = ['\r\n', '\u00a0', '\u201d', '\u2019', 'e\u0301', 'a', '\u1112\u1161\u11ab'];
  const units = [...forms, ...others];
  const around = fc.array(fc.constantFrom(...units), { maxLength: 9_000 });
  const passage = fc.array(fc.nat(others.length - 1), { minLength: 1, maxLength: 20 });
  const property = fc.property(around, passage, around, (before, kinds, after) => {
    const read = (from: readonly string[]) => `<${kinds.map((kind) => from[kind]).join('')}>`;
    const body = `${before.join('')}${read(others)}${after.join('')}`;
    const hint = describeLookAlike(body, read(forms));
    const names = ['line ends', 'kinds of space', 'double quotes', 'single quotes', 'letters'];
    for (const [kind, name] of names.entries()) {
      const isThere = kinds.includes(kind) || (name === 'letters' && kinds.includes(6));
      assert.equal(hint.includes(name), isThere, hint);
    }
  });
  fc.assert(property, { numRuns: 50 });
});

test('look-alike: what would take long to compare gets no hint', () => {
  const marks = (count: number) => `e${'\u0301\u0323'.repeat(count)}`;
  assert.notEqual(describeLookAlike(`${marks(4)} a\r\n`, 'a\n'), '');
  assert.equal(describeLookAlike(`${marks(50_000)} a\r\n`, 'a\n'), '');
  assert.equal(describeLookAlike('a\r\n', `${marks(4_999)}a\n`), '');
  const long = 'x'.repeat(9_999);
  assert.notEqual(describeLookAlike(`${long}\r\n`, `${long}\n`), '');
  assert.equal(describeLookAlike(`x${long}\r\n`, `x${long}\n`), '');
});
