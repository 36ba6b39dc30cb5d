// Every list in every order: all pages, their totals and links, by offset and by key, on every
// database and on several processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLACES, type Target } from '../../support/places.ts';
import { assertPage, assertWalk } from '../../support/right-pages.ts';
import { fillWithTaggedNotes, type ListUnderTest, withQuery } from '../../support/tagged-notes.ts';

const ORDERS = ['', 'order=id', 'order=-id', 'order=updated', 'order=-updated'];

/** Offsets and keys: of records, of deleted and missing ones, at both ends and beyond. */
const POSITIONS = [
  ...['offset=0', 'offset=3', 'offset=1000', 'offset=9007199254740991', 'after=0', 'before=0'],
  ...['after=8', 'before=8', 'after=1', 'before=1', 'after=26', 'before=27', 'after=40'],
  ...['before=1000', 'after=1000', 'after=9007199254740990', 'before=9007199254740990'],
  ...['after=007', 'before=%31%30'],
];

/** Walks a list in every order, and tries some positions in it, which `shift` selects. */
async function assertList(
  service: Target,
  { path, records }: ListUnderTest,
  shift: number,
): Promise<void> {
  await assertWalk(service, withQuery(path, 'x=1', 'limit=100'), records);
  for (const [index, order] of ORDERS.entries()) {
    const pages = await assertWalk(service, withQuery(path, 'limit=5', order), records);
    assert.equal(pages, Math.max(1, Math.ceil(records.length / 5)));
    const some = POSITIONS.filter((_, each) => (each + shift + index) % 4 === 0);
    for (const position of some)
      await assertPage(service, withQuery(path, position, order, 'limit=3'), records);
  }
}

for (const [place, start] of Object.entries(PLACES)) {
  test(`lists: all pages in all orders (${place})`, async (t) => {
    const service = await start(t);
    const lists = await fillWithTaggedNotes(service);
    await Promise.all(lists.map((each, index) => assertList(service, each, index)));
  });
}
