import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseWeights } from '../../../src/http/body/media-type.ts';

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
