// What a model gets to see of the body of a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut } from '../../src/assistants/results.ts';

test('results: a body is cut between characters, and says how to go on', () => {
  const next = (remaining: number, offset: number) => ({ remaining, next_offset: offset });
  for (const [body, offset, part] of [
    ['', 0, { body: '' }],
    ['abc', 0, { body: 'abc' }],
    ['abcd', 0, { body: 'abc', ...next(1, 3) }],
    ['abcd', 3, { body: 'd' }],
    ['abcd', 4, { body: '' }],
    ['abcd', 9_007_199_254_740_991, { body: '' }],
    ['a👋b👋c', 0, { body: 'a👋b', ...next(2, 3) }],
    ['a👋b👋c', 1, { body: '👋b👋', ...next(1, 4) }],
    ['👋👋👋👋', 2, { body: '👋👋' }],
  ] as const)
    assert.deepEqual(cut(body, offset, 3), part, `${body} from ${offset}`);
});
