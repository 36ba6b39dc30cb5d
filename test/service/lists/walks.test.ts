// All pages of all lists, their totals and links, by offset and by key. Each list has one of the
// orders; in the endurance tests it has all of them.
import { test } from 'node:test';
import { DEPLOYMENTS } from '../../support/deployments.ts';
import { walkAllLists } from '../../support/walks.ts';

for (const [deployment, start] of Object.entries(DEPLOYMENTS)) {
  test(`lists: all pages (${deployment})`, async (t) => walkAllLists(await start(t), 1));
}
