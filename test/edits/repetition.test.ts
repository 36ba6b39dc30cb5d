// How often texts repeat their beginning, compared with a search for every period.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repetitionsIn } from '../../src/edits/repetition.ts';
import { createRandom } from '../support/mutations.ts';

/** Tries each period of each beginning. */
function expectedIn(text: string): number {
  let most = 1;
  for (let end = 1; end <= text.length; end += 1)
    for (let period = 1; period <= end; period += 1)
      if (text.slice(period, end) === text.slice(0, end - period)) {
        most = Math.max(most, end / period);
        break;
      }
  return most;
}

test('repetition: as a search for every period finds it', () => {
  const random = createRandom(7);
  for (let round = 0; round < 2_000; round += 1) {
    const text = Array.from({ length: random.below(14) }, () => random.pick(['a', 'b'])).join('');
    assert.equal(repetitionsIn(text), expectedIn(text), text);
  }
});

test('repetition: long texts take as many steps as they have characters', () => {
  assert.equal(repetitionsIn('ab'.repeat(50_000)), 50_000);
  assert.equal(repetitionsIn(`${'a'.repeat(99_999)}b`), 99_999);
  assert.equal(repetitionsIn(`b${'a'.repeat(99_999)}`), 1);
});
