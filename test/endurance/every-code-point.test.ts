// Every code point of Unicode, through every operation on records.
import { test } from 'node:test';
import { COLLECTIONS, maxLengthOf } from '../support/collections.ts';
import { assertKept, codePoints } from '../support/texts.ts';

// A name is too short for this to end soon, and differs from a body in its length alone.
for (const collection of COLLECTIONS.filter(({ fields }) => fields.includes('body'))) {
  test(`text: ${collection.label.toLowerCase()}: every code point comes back`, async (t) => {
    await assertKept(t, collection, codePoints(maxLengthOf(collection, 'body'), 1));
  });
}
