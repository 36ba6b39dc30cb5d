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
    ['integer', '5.0', Number.POSITIVE_INFINITY],
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
