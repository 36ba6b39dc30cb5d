// Strings that are decoded piece by piece out of JSON.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonString } from '../../src/search/snippet.ts';

const BEGINNING = '{"text":"';

/** Returns the pieces of the string that follows the beginning. */
function piecesOf(json: Buffer): string[] {
  const string = new JsonString(json, BEGINNING.length);
  const pieces: string[] = [];
  while (!string.isEnd) pieces.push(string.next());
  return pieces;
}

test('JSON strings: the pieces of any text make the text, and none splits a character', () => {
  const characters = ['a', '"', '\\', '\u0001', '\n', 'é', '東', '\ufdfa', '𠮷', '\u007f'];
  const runs = fc.array(fc.tuple(fc.constantFrom(...characters), fc.nat(1_500)), { maxLength: 6 });
  fc.assert(
    fc.property(runs, (lengths) => {
      const text = lengths.map(([character, count]) => character.repeat(count)).join('');
      const pieces = piecesOf(Buffer.from(JSON.stringify({ text, next: 'x' })));
      assert.equal(pieces.join(''), text);
      assert.ok(pieces.every((piece) => piece.isWellFormed()));
      assert.ok(pieces.every((piece) => Buffer.byteLength(piece) <= 2_048));
    }),
  );
});

test('JSON strings: bytes that are no UTF-8 end a string', () => {
  const json = Buffer.concat([
    Buffer.from(`${BEGINNING}ab`),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  assert.equal(piecesOf(json).join(''), 'ab');
});
