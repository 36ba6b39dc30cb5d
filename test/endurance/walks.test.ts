// All pages of all lists in all orders, on every database and on several processes.
import { test } from 'node:test';
import { PROCESSES, SINGLE } from '../support/places.ts';
import { ORDERS, walkAllLists } from '../support/walks.ts';

for (const [place, start] of Object.entries({ ...SINGLE, ...PROCESSES })) {
  test(`lists: all pages in all orders (${place})`, async (t) =>
    walkAllLists(await start(t), ORDERS.length));
}
