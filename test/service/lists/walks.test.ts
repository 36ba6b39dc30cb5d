// All pages of all lists, their totals and links, by offset and by key. Each list has two of the
// orders; in the endurance tests it has all of them.
import { test } from 'node:test';
import { PLACES } from '../../support/places.ts';
import { walkAllLists } from '../../support/walks.ts';

for (const [place, start] of Object.entries(PLACES)) {
  test(`lists: all pages (${place})`, async (t) => walkAllLists(await start(t), 2));
}
