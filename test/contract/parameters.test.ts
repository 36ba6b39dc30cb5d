import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePathInteger, parseQueryInteger } from '../../src/contract/endpoint.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const HUGE = '9'.repeat(400);

/** Neither a path nor a query takes these as integers. */
const NO_INTEGERS = [
  ...['', '10.5', '1.0', '.5', '1.', '1e2', '1E2', '+1', ' 1', '1 ', '0x10', '0b1', '0o7'],
  ...['1_000', '1,000', '1n', '--1', '-', '1-', '- 1', '-+1', 'abc', 'NaN', 'Infinity'],
  ...['-Infinity', 'null', 'true', '[1]'],
  ...['1\0', '\x001', '1\n', '\n1', '1\na2', '1\t', '\u00a01', '\ufeff1', '1/1', '"1"', '%', '%zz'],
  // Digits and signs beyond ASCII.
  ...['\u0661', '\uff11', '\u0967', '\u{1d7cf}', '\u00b2', '\u2160', '\u22121'],
];

const BOTH: readonly (readonly [text: string, value: number])[] = [
  ['0', 0],
  ['00', 0],
  ['1', 1],
  ['007', 7],
  ['-1', -1],
  ['-007', -7],
  [`${'0'.repeat(10_000)}7`, 7],
  [String(LARGEST), LARGEST],
  [`-${LARGEST}`, -LARGEST],
];

test('parameters: texts that are not integers', () => {
  for (const text of NO_INTEGERS) {
    assert.equal(parsePathInteger(text), undefined, JSON.stringify(text));
    assert.equal(parseQueryInteger(text), undefined, JSON.stringify(text));
  }
});

test('parameters: integers', () => {
  for (const [text, value] of BOTH) {
    assert.equal(parsePathInteger(text), value, text);
    assert.equal(parseQueryInteger(text), value, text);
  }
});

test('parameters: an id beyond the safe integers is 0', () => {
  const numbers = ['9007199254740992', '9007199254740993', '-9007199254740993'];
  for (const text of [...numbers, HUGE, `-${HUGE}`]) assert.equal(parsePathInteger(text), 0, text);
});

test('parameters: a query keeps large integers for its range check', () => {
  assert.equal(parseQueryInteger('9007199254740992'), LARGEST + 1);
  assert.equal(parseQueryInteger('18446744073709551617'), 2 ** 64);
  assert.equal(parseQueryInteger(HUGE), Number.POSITIVE_INFINITY);
});

test('parameters: -0 is an id, but not a query integer', () => {
  for (const text of ['-0', '-00']) {
    assert.equal(parsePathInteger(text), -0, text);
    assert.equal(parseQueryInteger(text), undefined, text);
  }
});
