// No read returns anything older than what was acknowledged before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playLedger } from '../support/freshness-ledger.ts';

const COMMITS = 150;

test('never stale: three writers and sixteen readers', async (t) => {
  const { stale, reads, fromMemory } = await playLedger(t, COMMITS);
  assert.deepEqual(stale, []);
  assert.ok(fromMemory > 0, `${fromMemory} of ${reads} reads from memory`);
});
