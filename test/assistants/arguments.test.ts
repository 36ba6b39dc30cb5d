// Texts that stand for values of other types, as many models send them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coerce } from '../../src/assistants/arguments.ts';

test('arguments: a text counts as its value where the schema wants another type', () => {
  for (const [type, sent, value] of [
    ['integer', '5', 5],
    ['integer', '-5', -5],
    ['integer', 5, 5],
    ['integer', 'five', 'five'],
    ['integer', '', ''],
    ['integer', '5.0', 5],
    ['integer', '1e1', 10],
    ['integer', '-0.5e1', -5],
    ['integer', '5.5', 5.5],
    ['integer', '1e999', Number.POSITIVE_INFINITY],
    ['array', '["a",5.0]', ['a', 5]],
    ['array', '["\ud800"]', ['\ud800']],
    ['boolean', 'true', true],
    ['boolean', 'false', false],
    ['boolean', 'yes', 'yes'],
    ['array', '["a","b"]', ['a', 'b']],
    ['array', '["a"', '["a"'],
    ['array', 'a,b', 'a,b'],
    ['array', `[1${' '.repeat(997)}]`, [1]],
    ['array', `[1${' '.repeat(999)}]`, `[1${' '.repeat(999)}]`],
    ['string', '5', '5'],
    ['string', 'true', 'true'],
    ['string', '["a"]', '["a"]'],
    ['string', 5, 5],
  ] as const)
    assert.deepEqual(coerce(type, sent), value, `${type} ${JSON.stringify(sent)}`);
});
