// The ledger of test/storage/never-stale.test.ts, for long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playLedger } from '../support/freshness-ledger.ts';

test('never stale: 100,000 commits of three writers', async (t) => {
  const { commits, reads, fromMemory, stale } = await playLedger(t, 100_000);
  assert.deepEqual(stale, []);
  t.diagnostic(`${commits} commits, ${reads} reads, ${fromMemory} of them from memory`);
});
