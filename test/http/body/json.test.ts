// Strict JSON is compared with JSON.parse. test/endurance/larger.test.ts does so with thousands of
// random texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NESTING_LEVELS, MAX_PARTS, parseJson } from '../../../src/http/body/json.ts';
import {
  assertRefused,
  checkBytes,
  checkMutatedTexts,
  checkSpeed,
  checkTexts,
  expectedValue,
  judge,
} from '../../support/json-properties.ts';
import { JSON_TEXTS } from '../../support/json-texts.ts';

/** The detail of a refusal does not repeat what was sent. */
const REFUSAL = new RegExp(
  '^The body is (?:not valid JSON(?:; remove the byte order mark at its start)?|not valid UTF-8|' +
    'empty; a JSON text is expected|nested too deep)\\.$',
);

const RUN = { seed: 1, numRuns: 300 };

const parse = (text: string) => parseJson(Buffer.from(text));

test('JSON: generated texts have the value of JSON.parse', () => checkTexts(RUN));

test('JSON: mutated texts are accepted as by JSON.parse', () => checkMutatedTexts(RUN));

test('JSON: damaged bytes are accepted if they are UTF-8 and JSON', () => checkBytes(RUN));

test('JSON: the time to judge a text grows with its length only', () => checkSpeed(65_536, 500));

test('JSON: an integer written as a float becomes null', () => {
  for (const text of '4.0 4.00 -4.0 4e0 4E0 4e+0 4e-0 40e-1 1e2 0.0 -0.0 0e5'.split(' ')) {
    assert.equal(parse(text), null, text);
    assert.deepEqual(parse(` {"a":[${text},\t${text} ]}`), { a: [null, null] }, text);
  }
  for (const text of ['1e400', '-1e400', '9007199254740993.0', '1e-400'])
    assert.equal(parse(text), null, text);
  for (const text of '4 -4 0 -0 4.5 -4.5 4e-1 16.9 1.5e0 5e-324 9007199254740993'.split(' ')) {
    assert.ok(Object.is(parse(text), Number(text)), text);
  }
});

test('JSON: the number of arrays, objects and members is limited', () => {
  const member = (index: number) => `"${index}":1`;
  const members = (count: number) => Array.from({ length: count }, (_, index) => member(index));
  for (const textOf of [
    (parts: number) => `[${'[],'.repeat(parts - 1)}0]`,
    (parts: number) => `[${'{},'.repeat(parts - 1)}0]`,
    (parts: number) => `{${members(parts - 1).join(',')}}`,
  ]) {
    assert.deepEqual(parse(textOf(MAX_PARTS)), JSON.parse(textOf(MAX_PARTS)));
    const refusal = { message: 'The body has too many arrays, objects and members.' };
    assert.throws(() => parse(textOf(MAX_PARTS + 1)), refusal);
  }
  const text = JSON.stringify(':[{'.repeat(MAX_PARTS));
  assert.equal(parse(text), JSON.parse(text));
});

test('JSON: floats inside strings and names stay', () => {
  const texts = [
    '4.0',
    '1e5',
    'a\\"4.0',
    '\\\\"4.0',
    '\\',
    '"',
    '",4.0,"',
    '[4.0',
    '{4.0',
    '👋4.0',
  ];
  for (const value of texts) {
    const text = JSON.stringify({ [value]: [value, { [value]: value }], x: 1.5 });
    assert.deepEqual(parse(text), JSON.parse(text));
  }
});

test('JSON: the table of texts', (t) => {
  let count = 0;
  for (const [about, { accepted, refused, decided = [] }] of Object.entries(JSON_TEXTS)) {
    for (const text of accepted) {
      const label = `${about}: ${String(text).slice(0, 100)}`;
      assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(String(text)), label);
    }
    for (const text of refused) {
      const label = `${about}: ${JSON.stringify(String(text).slice(0, 100))}`;
      assert.match(assertRefused(text, label).message, REFUSAL, label);
      // Bytes that are not UTF-8 are lost in a string, which may be JSON.
      if (typeof text === 'string') assert.equal(judge(text), undefined, label);
    }
    for (const [text, decision] of decided) {
      if (decision === 'refused') assert.match(assertRefused(text, about).message, /deep/);
      else assert.deepEqual(parse(text), decision.value, text);
      assert.ok(judge(text), `${text.slice(0, 100)} is not JSON`);
    }
    count += accepted.length + refused.length + decided.length;
  }
  t.diagnostic(`${count} texts`);
  assert.ok(count >= 300);
});

test('JSON: bytes that are not UTF-8 are refused', () => {
  const sequences = {
    'a lone continuation': [0x80],
    'a truncated sequence of two': [0xc3],
    'a truncated sequence of three': [0xe2, 0x82],
    'a truncated sequence of four': [0xf0, 0x9f, 0x91],
    'an overlong slash of two': [0xc0, 0xaf],
    'an overlong slash of three': [0xe0, 0x80, 0xaf],
    'an overlong slash of four': [0xf0, 0x80, 0x80, 0xaf],
    'an overlong NUL': [0xc0, 0x80],
    'a surrogate': [0xed, 0xa0, 0x80],
    'a pair of surrogates': [0xed, 0xa0, 0xbd, 0xed, 0xb1, 0x8b],
    'a code point beyond the last': [0xf4, 0x90, 0x80, 0x80],
    'UTF-16 with its mark': [0xff, 0xfe],
    'Latin-1': [0xe9],
  };
  for (const [name, sequence] of Object.entries(sequences)) {
    const bad = Buffer.from(sequence);
    const [quote, text] = [Buffer.from('"'), Buffer.from(`["${'a'.repeat(2_000)}","`)];
    assert.match(assertRefused(Buffer.concat([quote, bad, quote]), name).message, /UTF-8/, name);
    assertRefused(bad, name);
    assertRefused(Buffer.concat([text, bad, Buffer.from('"]')]), name);
    assertRefused(Buffer.concat([Buffer.from('1'), bad]), name);
  }
  const edges = '\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
  assert.equal(parse(`"${edges}"`), edges);
});

test('JSON: the last of several members with one name counts', () => {
  assert.deepEqual(parse('{"a":1,"b":2,"a":3}'), { a: 3, b: 2 });
  assert.deepEqual(parse('{"a":1,"\\u0061":{"c":4.0}}'), { a: { c: null } });
});

test('JSON: __proto__ and constructor are ordinary names', () => {
  const value = parse(
    '{"__proto__":{"title":"x"},"constructor":{"prototype":{"title":"x"}},"x":1.5}',
  ) as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'constructor', 'x']);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal('title' in value, false);
  assert.equal('title' in {}, false);
});

test('JSON: nesting is accepted up to its limit', () => {
  const nested = (open: string, close: string) => (levels: number) =>
    `${open.repeat(levels)}0${close.repeat(levels)}`;
  const forms = {
    arrays: nested('[', ']'),
    objects: nested('{"a":', '}'),
    'opening brackets in strings': nested('["[[{{\\"[",', ']'),
    'closing brackets in strings': nested('["]]}}\\"]",', ']'),
    'floats between them': nested('[4.0,', ']'),
    'closed lists between them': nested('[[],{},', ']'),
    spaces: nested(' [\n', '\t] '),
    'arrays and objects in turns': (levels: number) => {
      const opening = Array.from({ length: levels }, (_, level) => (level % 2 ? '[' : '{"a":'));
      const closing = opening.map((text) => (text === '[' ? ']' : '}')).reverse();
      return [...opening, 0, ...closing].join('');
    },
  };
  for (const [name, form] of Object.entries(forms)) {
    // The closed lists are one level deeper than the innermost list that holds them.
    const most = name.startsWith('closed lists') ? MAX_NESTING_LEVELS - 1 : MAX_NESTING_LEVELS;
    assert.deepEqual(
      JSON.stringify(parse(form(most))),
      JSON.stringify(expectedValue(form(most))),
      name,
    );
    assert.match(assertRefused(form(most + 1), name).message, /deep/, name);
  }
});
