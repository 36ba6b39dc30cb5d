// Strict JSON is compared with JSON.parse. test/endurance/larger.test.ts does so with thousands of
// random texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_NESTING_LEVELS, MAX_PARTS, parseJson } from '../../../src/http/body/json.ts';
import {
  assertRefused,
  checkMutatedTexts,
  checkSpeed,
  checkTexts,
  expectedValue,
  judge,
} from '../../support/json-properties.ts';
import { JSON_TEXTS } from '../../support/json-texts.ts';

/** The detail of a refusal does not repeat what was sent. */
const REFUSAL = new RegExp(
  '^The body is (?:empty; a JSON text is expected|not valid UTF-8 at line \\d+, column \\d+|' +
    'not valid JSON at line \\d+, column \\d+: (?:it ends too early, expected .{1,50}|' +
    "expected .{1,50}, found (?:.|U\\+[\\dA-F]{4,6}|['a] [ -~]{1,40})))\\.$",
);

const RUN = { seed: 1, numRuns: 300 };

const parse = (text: string) => parseJson(Buffer.from(text));

test('JSON: generated texts have the value of JSON.parse', () => checkTexts(RUN));

test('JSON: mutated texts are accepted as by JSON.parse', () => checkMutatedTexts(RUN));

test('JSON: the time to judge a text grows with its length only', () => checkSpeed());

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

test('JSON: the table of texts', () => {
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
  }
});

test('JSON: a fault is placed after up to 1,048,575 UTF-16 units and 99,999 tokens', () => {
  const invalid = (bytes: Buffer, expected: RegExp) =>
    assert.match(assertRefused(bytes, String(expected)).message, expected);
  for (const [fault, what] of [
    [Buffer.from('\n'), 'JSON at line 1, column 1048576: expected the rest of a string, found .+'],
    [Buffer.from([0xff]), 'UTF-8 at line 1, column 1048576'],
  ] as const) {
    const longest = Buffer.from('["'.padEnd(1_048_575, '\u20ac'));
    invalid(Buffer.concat([longest, fault]), new RegExp(`is not valid ${what}\\.$`));
    invalid(Buffer.concat([longest, Buffer.from('x'), fault]), /is not valid (?:JSON|UTF-8)\.$/);
  }
  const tokens = (count: number) => Buffer.from(`[${'0,'.repeat(count / 2)}?`);
  invalid(tokens(99_998), /JSON at line 1, column 100000: expected a value, found \?\.$/);
  invalid(tokens(100_000), /is not valid JSON\.$/);
});

test('JSON: brackets and floats between levels do not confuse the limit of nesting', () => {
  for (const [open, close] of [
    ['["[[{{\\"[",', ']'],
    ['["]]}}\\"]",', ']'],
    ['[4.0,', ']'],
  ] as const) {
    const nested = (levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;
    const text = nested(MAX_NESTING_LEVELS);
    assert.equal(JSON.stringify(parse(text)), JSON.stringify(expectedValue(text)), open);
    assert.match(assertRefused(nested(MAX_NESTING_LEVELS + 1), open).message, /deep/, open);
  }
});

test('JSON: __proto__ is an ordinary name', () => {
  const value = parse('{"__proto__":{"title":"x"},"x":1.5}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__', 'x']);
  assert.equal('title' in value, false);
});
