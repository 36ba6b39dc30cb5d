import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseMediaType, parseWeights } from '../../../src/http/body/media-type.ts';

test('media types: case and spaces do not matter', () => {
  const parsed = parseMediaType(' Application/JSON ; Charset=UTF-8;\tq="1" ');
  assert.equal(parsed?.essence, 'application/json');
  assert.deepEqual(
    [...(parsed?.params ?? [])],
    [
      ['charset', 'UTF-8'],
      ['q', '1'],
    ],
  );
});

test('media types: invalid ones are undefined', () => {
  for (const text of [
    ...['', ' ', 'json', '/', 'application/', '/json', 'application json'],
    ...['application/json, text/plain', 'a/b/c', 'a/b x', 'é/b'],
  ])
    assert.equal(parseMediaType(text), undefined, text);
});

test('media types: long hostile ones are judged quickly', () => {
  const long = 16_384;
  for (const text of [
    ...[`application/json${';'.repeat(long)}`, `application/json;x="${'\\"'.repeat(long)}`],
    ...[`application/json${'; '.repeat(long)}x`, `${' '.repeat(long)}application/json`],
    ...[`application/json;${' \t'.repeat(long)}=`, `application/json${';a=b'.repeat(long)};`],
    `${'a'.repeat(long)}/`,
  ]) {
    // The machine may be busy: only the best of several attempts counts.
    const isQuick = [1, 2, 3].some(() => {
      const started = performance.now();
      parseMediaType(text);
      return performance.now() - started < 200;
    });
    assert.ok(isQuick, text.slice(0, 40));
  }
});

const weighed = (field: string | string[] | undefined) => Object.fromEntries(parseWeights(field));

test('weights: by name, from 0 to 1', () => {
  for (const [field, weights] of [
    ['gzip', { gzip: 1 }],
    ['GZip;Q=0.5', { gzip: 0.5 }],
    ['br, gzip,identity', { br: 1, gzip: 1, identity: 1 }],
    ['text/html, a/json;q=0.5, */*;q=0.001', { 'text/html': 1, 'a/json': 0.5, '*/*': 0.001 }],
    ['br;q=0,gzip ; q=0.0\t, deflate;q=1.000', { br: 0, gzip: 0, deflate: 1 }],
    ['text/html;level=1;q=0.4;x=2', { 'text/html': 0.4 }],
    // An invalid weight counts as zero.
    ['br;q=x, gzip;q=, identity;q=0,5', { br: 0, gzip: 0, identity: 0, '5': 1 }],
  ] as const)
    assert.deepEqual(weighed(field), weights, field);
  assert.deepEqual(weighed(['br;q=0', 'gzip']), { br: 0, gzip: 1 }, 'several lines are one list');
});

test('weights: an empty field accepts nothing', () => {
  for (const field of [undefined, '', ' ', ',', ';q=1', ' , ;'])
    assert.deepEqual(weighed(field), {}, field);
});
