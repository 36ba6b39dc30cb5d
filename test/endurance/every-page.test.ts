// Pages at every single offset of a long list.
import { test } from 'node:test';
import { COLLECTIONS } from '../support/collections.ts';
import { needsFile } from '../support/engine.ts';
import { testWindows } from '../support/page-windows.ts';

for (const collection of COLLECTIONS) {
  // Tags differ from notes in their names alone.
  if (collection.label === 'Tag') continue;
  test(`pages: ${collection.path}: the window at every offset`, { skip: needsFile }, async (t) => {
    await testWindows(t, collection, { records: 6_600, step: 1 });
  });
}
