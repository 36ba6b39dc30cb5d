// What a model gets to see of the body of a note.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cut } from '../../src/assistants/results.ts';

interface Part {
  readonly body: string;
  readonly remaining?: number;
  readonly next_offset?: number;
}

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

test('results: the parts of a body make the whole', () => {
  const bodies = fc.string({ unit: 'binary', maxLength: 50 });
  fc.assert(
    fc.property(bodies, fc.integer({ min: 1, max: 9 }), (body, most) => {
      const parts: string[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const part = cut(body, offset, most) as Part;
        assert.ok(part.body.isWellFormed() && [...part.body].length <= most);
        parts.push(part.body);
        const rest: number = [...body].slice(offset + most).length;
        assert.equal(part.remaining ?? 0, rest);
        offset = part.next_offset;
      }
      assert.equal(parts.join(''), body);
    }),
    { numRuns: 200 },
  );
});
