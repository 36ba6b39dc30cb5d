// Counting code points: as the iterator of strings does, of which it needs no copy.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { countCodePoints, indexAfter } from '../src/code-points.ts';

test('code points: counted and skipped as an iterator does', () => {
  const aText = fc.string({ unit: fc.constantFrom('a', 'é', '東', '😀', '\ud800', '\udc00') });
  fc.assert(
    fc.property(aText, fc.nat(12), fc.nat(12), (text, before, count) => {
      const characters = [...text];
      const start = characters.slice(0, before).join('').length;
      const end = characters.slice(0, before + count).join('').length;
      assert.equal(countCodePoints(text), characters.length);
      assert.equal(indexAfter(text, before), start);
      assert.equal(indexAfter(text, count, start), end);
    }),
  );
});
