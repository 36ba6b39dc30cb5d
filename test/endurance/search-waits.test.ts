// A search waits for the search index no longer than it must.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { INDEX_TIMES, IndexBehind } from '../../src/search/search-index.ts';
import { STEP_LIMITS } from '../../src/search/steps.ts';
import { change } from '../support/databases.ts';
import { MEMORY } from '../support/engines.ts';
import { isIndexed, manyNotes, openIndexed } from '../support/search-index.ts';
import { until } from '../support/until.ts';

/** A body of 40,000 words. */
const LONG_BODY = `replace(hex(zeroblob(40000)), '00', 'word ')`;

test('search waits: a search does not wait longer than its time', async (t) => {
  const { database, heard, index } = await openIndexed(t, MEMORY, { delayMs: 60_000 });
  await index.catchUp();
  let steps = 0;
  heard.beforeTransaction = async () => {
    steps += 1;
    // The estimate, from quick steps, does not foresee this.
    await setTimeout(INDEX_TIMES.maxWaitMs / 2);
  };
  await change(heard.plain, manyNotes(6 * STEP_LIMITS.records, `'b'`));
  await assert.rejects(index.catchUp(), IndexBehind);
  assert.ok(steps >= 2 && steps < 6, `rejected after ${steps} steps`);
  heard.beforeTransaction = async () => {};
  await until(() => isIndexed(database));
  await index.catchUp();
});

test('search waits: short notes after long ones reject at most one search', async (t) => {
  const { database, index } = await openIndexed(t, MEMORY, { delayMs: 60_000 });
  await change(database, manyNotes(40, LONG_BODY));
  await Promise.allSettled([index.catchUp()]);
  await until(() => isIndexed(database));
  let rejected = 0;
  for (let round = 0; round < 4; round += 1) {
    await change(database, manyNotes(STEP_LIMITS.records, `'b'`));
    await index.catchUp().catch((error) => {
      assert.ok(error instanceof IndexBehind);
      rejected += 1;
    });
    await until(() => isIndexed(database));
  }
  assert.ok(rejected <= 1, `${rejected} searches were rejected`);
});
