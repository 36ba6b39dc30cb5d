import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weights } from '../../src/http/accept.ts';

const weighed = (field: string | string[] | undefined) => Object.fromEntries(weights(field));

test('accept: the default weight is 1', () => {
  assert.deepEqual(weighed('gzip'), { gzip: 1 });
  assert.deepEqual(weighed('br, gzip,identity'), { br: 1, gzip: 1, identity: 1 });
});

test('accept: weights from 0 to 1', () => {
  assert.deepEqual(weighed('text/html, application/json;q=0.5, */*;q=0.001'), {
    'text/html': 1,
    'application/json': 0.5,
    '*/*': 0.001,
  });
  assert.deepEqual(weighed('br;q=0,gzip ; q=0.0\t, deflate;q=1.000'), { br: 0, gzip: 0, deflate: 1 });
  assert.deepEqual(weighed('text/html;level=1;q=0.4;x=2'), { 'text/html': 0.4 });
});

test('accept: names and q in either case', () => {
  assert.deepEqual(weighed('GZip;Q=0.5'), { gzip: 0.5 });
});

test('accept: an invalid weight counts as zero', () => {
  assert.deepEqual(weighed('br;q=x, gzip;q=, identity;q=0,5'), { br: 0, gzip: 0, identity: 0, '5': 1 });
});

test('accept: an empty field accepts nothing', () => {
  for (const field of [undefined, '', ' ', ',', ';q=1', ' , ;']) assert.deepEqual(weighed(field), {}, field);
});

test('accept: several lines are one list', () => {
  assert.deepEqual(weighed(['br;q=0', 'gzip']), { br: 0, gzip: 1 });
});
