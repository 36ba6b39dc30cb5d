// All pages of all lists in all orders, on every database and on two processes.
import { test } from 'node:test';
import { OTHERS, USUAL } from '../support/places.ts';
import { ORDERS, walkAllLists } from '../support/walks.ts';

for (const [place, start] of Object.entries({ ...USUAL, ...OTHERS })) {
  test(`lists: all pages in all orders (${place})`, async (t) =>
    walkAllLists(await start(t), ORDERS.length));
}
