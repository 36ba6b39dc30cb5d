// Parsing and comparing entity tags, against a model that looks at one character after the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type EntityTag,
  type EntityTags,
  matchesStrongly,
  matchesWeakly,
  parseEntityTags,
} from '../../../src/http/body/entity-tags.ts';

function expectedTags(field: string): EntityTags | undefined {
  if (field === '*') return '*';
  const elements = [''];
  let isQuoted = false;
  for (const character of field) {
    if (character === '"') isQuoted = !isQuoted;
    if (character === ',' && !isQuoted) elements.push('');
    else elements.push(`${elements.pop()}${character}`);
  }
  const present = elements.map((each) => each.replace(/^[ \t]+|[ \t]+$/g, '')).filter(Boolean);
  const tags = present.map(expectedTag).filter((each) => each !== undefined);
  return tags.length > 0 && tags.length === present.length ? tags : undefined;
}

function expectedTag(element: string): EntityTag | undefined {
  const isWeak = element.startsWith('W/');
  const quoted = isWeak ? element.slice(2) : element;
  if (quoted.length < 2 || !quoted.startsWith('"') || !quoted.endsWith('"')) return undefined;
  const text = quoted.slice(1, -1);
  const isAllowed = (code: number) => code > 0x20 && code < 0x100 && code !== 0x22 && code !== 0x7f;
  const codes = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return codes.every(isAllowed) ? { text, isWeak } : undefined;
}

const strong = (text: string): EntityTag => ({ text, isWeak: false });
const weak = (text: string): EntityTag => ({ text, isWeak: true });

test('entity tags: lists, weak ones, empty elements, and any character of RFC 9110', () => {
  for (const [field, tags] of [
    ['*', '*'],
    ['"a"', [strong('a')]],
    ['""', [strong('')]],
    ['W/"a"', [weak('a')]],
    ['"a","b"', [strong('a'), strong('b')]],
    ['"a" \t, \tW/"b"', [strong('a'), weak('b')]],
    [',, "a" ,,"b",', [strong('a'), strong('b')]],
    ['"a,b", "c"', [strong('a,b'), strong('c')]],
    ['"\x80\xff!#~\\"', [strong('\x80\xff!#~\\')]],
    ['"*"', [strong('*')]],
    ['"W/"', [strong('W/')]],
  ] as const) {
    assert.deepEqual(parseEntityTags(field), tags, field);
    assert.deepEqual(expectedTags(field), tags, `the model: ${field}`);
  }
});

test('entity tags: anything else is malformed', () => {
  for (const field of [
    ...['', ',', ', ,', ' ', 'a', "'a'", '"', '"a', 'a"', '"a"b', 'a"b"', '"a""b"', '"a" "b"'],
    ...['*,"a"', '"a",*', '**', '*,', 'w/"a"', 'W/a', 'W/', 'W/ "a"', 'W /"a"', 'W/W/"a"'],
    ...['"a b"', '"a\tb"', '"a\x7f"', '"a\0"', '"\u0100"', '"a";"b"', '"a",b', '"a"\n'],
  ]) {
    assert.equal(parseEntityTags(field), undefined, field);
    assert.equal(expectedTags(field), undefined, `the model: ${field}`);
  }
});

test('entity tags: generated fields are read as the model reads them', () => {
  const piece = fc.constantFrom(
    ...['"', '""', '"a"', '"b,c"', 'W/', 'W/"a"', ',', ', ', ' ', '\t', '*', 'a', '/', '\\'],
    ...['\x7f'],
    ...['\x80', '\xff', '"5f2c9a01-42"', '"\u0100"'],
  );
  const field = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('').trim());
  fc.assert(
    fc.property(
      fc.oneof(
        field,
        fc.string().map((text) => text.trim()),
      ),
      (text) => {
        assert.deepEqual(parseEntityTags(text), expectedTags(text));
      },
    ),
    { seed: 1, numRuns: 5_000 },
  );
});

test('entity tags: a weak tag matches weakly only', () => {
  for (const [tags, strongly, weakly] of [
    ['*', true, true],
    [[strong('a')], true, true],
    [[weak('a')], false, true],
    [[weak('a'), strong('a')], true, true],
    [[strong('b'), strong('A'), strong('')], false, false],
    [[], false, false],
  ] as const) {
    assert.deepEqual([matchesStrongly(tags, 'a'), matchesWeakly(tags, 'a')], [strongly, weakly]);
  }
});

test('entity tags: long hostile fields are judged quickly', () => {
  const long = 16_384;
  for (const text of [
    ...['"', ',', ' ', '"a', '""', '",', '"",', 'W/', 'W/"', '" ', '"\t,', 'W/"",'],
    ...['"a" , ', ', "', '*', '\\"'],
  ]) {
    const field = text.repeat(long / text.length);
    // The machine may be busy: only the best of several attempts counts.
    const isQuick = [1, 2, 3].some(() => {
      const started = performance.now();
      parseEntityTags(`${field}x`);
      parseEntityTags(field);
      return performance.now() - started < 50;
    });
    assert.ok(isQuick, text);
  }
});
