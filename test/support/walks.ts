// Walks through lists: all pages, their totals and links, by offset and by key.
import assert from 'node:assert/strict';
import type { Target } from './places.ts';
import { assertPage, assertWalk } from './right-pages.ts';
import { fillWithTaggedNotes, type ListUnderTest, withQuery } from './tagged-notes.ts';

/** All orders of lists; the first is the default. */
export const ORDERS = ['', 'order=id', 'order=-id', 'order=updated', 'order=-updated'];

/** Offsets and keys: of records, of deleted and missing ones, at both ends and beyond. */
const POSITIONS = [
  ...['offset=0', 'offset=3', 'offset=1000', 'offset=9007199254740991', 'after=0', 'before=0'],
  ...['after=8', 'before=8', 'after=1', 'before=1', 'after=26', 'before=27', 'after=40'],
  ...['before=1000', 'after=1000', 'after=9007199254740990', 'before=9007199254740990'],
  ...['after=007', 'before=%31%30'],
];

/** Walks a list in some orders, and tries some positions in each; `shift` selects both. */
async function assertList(
  service: Target,
  { path, records }: ListUnderTest,
  shift: number,
  orders: number,
): Promise<void> {
  await assertWalk(service, withQuery(path, 'x=1', 'limit=100'), records);
  for (const [index, order] of ORDERS.entries()) {
    if ((index + shift) % ORDERS.length >= orders) continue;
    const pages = await assertWalk(service, withQuery(path, 'limit=5', order), records);
    assert.equal(pages, Math.max(1, Math.ceil(records.length / 5)));
    const some = POSITIONS.filter((_, each) => (each + shift + index) % 4 === 0);
    for (const position of some)
      await assertPage(service, withQuery(path, position, order, 'limit=3'), records);
  }
}

/** Fills an empty service and walks each of its lists in as many `orders`, which take turns. */
export async function walkAllLists(service: Target, orders: number): Promise<void> {
  const lists = await fillWithTaggedNotes(service);
  await Promise.all(lists.map((each, index) => assertList(service, each, index, orders)));
}
