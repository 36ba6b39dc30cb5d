// All pages of all lists in all orders, on every database and on two processes.
import { test } from 'node:test';
import { OTHERS, USUAL } from '../support/deployments.ts';
import { ORDERS, walkAllLists } from '../support/walks.ts';

for (const [deployment, start] of Object.entries({ ...USUAL, ...OTHERS })) {
  test(`lists: all pages in all orders (${deployment})`, async (t) =>
    walkAllLists(await start(t), ORDERS.length));
}
