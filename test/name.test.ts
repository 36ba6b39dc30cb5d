// The grammar of the names of notes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_NAME_LENGTH } from '../src/contract/generated.js';
import { faultInName } from '../src/name.ts';
import { anyCharacter } from './support/any-character.ts';
import { at } from './support/contract.ts';
import { BEAUTIFUL, HOSTILE } from './support/names-of-notes.ts';

const faultIn = (text: string) => faultInName(text, MAX_NAME_LENGTH);

const { pattern, minLength, maxLength } = at('/components/schemas/NoteName') as {
  readonly pattern: string;
  readonly minLength: number;
  readonly maxLength: number;
};

/** Characters that the grammar or NFC treat in a way of their own, and any others. */
const piece = fc.oneof(
  fc.constantFrom(
    ...[
      '/',
      '.',
      '..',
      '\\',
      '\0',
      '\x1f',
      ' ',
      '\x7e',
      '\x7f',
      '\x9f',
      '\xa0',
      '\u2027',
      '\u2028',
    ],
    ...[
      '\u2029',
      '\u202a',
      '\ud800',
      'e',
      '\u0301',
      '\u1fef',
      '\u212a',
      '\u0958',
      '\u1100',
      '\u1161',
    ],
    ...[
      '\u0338',
      '\u0345',
      '𝅗𝅥',
      '😀',
      '%2F',
      'x'.repeat(255),
      'ä'.repeat(255),
      'a\u0308'.repeat(255),
    ],
  ),
  anyCharacter,
);
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));

test('grammar of names: names in any language, and those of earlier versions', () => {
  for (const name of BEAUTIFUL) {
    assert.equal(faultIn(name), undefined, name);
    assert.equal(name, name.normalize(), `${name} is in NFC`);
  }
  const earlier = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
  fc.assert(
    fc.property(earlier, (name) => faultIn(name) === undefined && name === name.normalize()),
    { seed: 1, numRuns: 1_000 },
  );
});

test('grammar of names: a fault has a code, and says which segment has it', () => {
  for (const [name, [code, detail]] of Object.entries(HOSTILE)) {
    const [found, said = ''] = faultIn(name) ?? [];
    assert.equal(found, code, name);
    assert.match(said, detail, name);
  }
  assert.deepEqual(faultIn('a\udc00')?.[0], 'format');
});

test('grammar of names: the length counts in NFC', () => {
  assert.equal(faultIn('a\u0308'.repeat(512)), undefined);
  // One of four code points, and one that NFC makes longer.
  assert.equal(faultIn('\u03b1\u0313\u0300\u0345'.repeat(512)), undefined);
  assert.equal(faultIn('\u0958'.repeat(256)), undefined);
  assert.equal(faultIn('\u0958'.repeat(257))?.[0], 'maxLength');
  assert.equal(faultIn('\u0300\u0316'.repeat(1_000_000))?.[0], 'maxLength');
});

test('grammar of names: that of the contract, in each normalization form, for any text', () => {
  const allowed = new RegExp(pattern, 'u');
  // Not every language that has clients can write these in a pattern.
  const others = /[\x80-\x9f\u2028\u2029]/;
  const isName = (name: string) => {
    const { length } = [...name];
    const isInBounds = length >= minLength && length <= maxLength;
    return name.isWellFormed() && isInBounds && allowed.test(name) && !others.test(name);
  };
  let names = 0;
  fc.assert(
    fc.property(text, (each) => {
      const fault = faultIn(each);
      assert.equal(fault === undefined, isName(each.normalize()));
      for (const form of ['NFC', 'NFD']) assert.deepEqual(faultIn(each.normalize(form)), fault);
      // Nothing of the text is in an error, which stays one line.
      assert.match(fault?.[1] ?? 'must', /^must[ \w.,+]*$/);
      names += fault ? 0 : 1;
    }),
    { seed: 1, numRuns: 20_000 },
  );
  assert.ok(names > 2_000, `${names} names`);
});
