// No read returns anything older than what was acknowledged before it. For each step of the proof
// in fresh-memory.ts, a memory without this step is found out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FreshMemory } from '../../src/storage/batches/fresh-memory.ts';
import { type CreateMemory, playLedger } from '../support/freshness-ledger.ts';

const COMMITS = 150;
/** A memory that lacks a step is found out long before. */
const MAX_COMMITS = 50_000;

test('never stale: three writers and sixteen readers', async (t) => {
  const { stale, reads, fromMemory } = await playLedger(t, COMMITS);
  assert.deepEqual(stale, []);
  assert.ok(fromMemory > 0, `${fromMemory} of ${reads} reads from memory`);
});

const BROKEN: Readonly<Record<string, CreateMemory>> = {
  'that checks only now and then': ({ freshness }, maxBytes) => {
    const memory = new FreshMemory(freshness, maxBytes);
    const check = memory.check.bind(memory);
    let last: string | undefined;
    let count = 0;
    const checkSometimes = () => {
      if (count % 10 === 0) last = check();
      count += 1;
      return last;
    };
    return Object.assign(memory, { check: checkSometimes });
  },
  'that keeps what it read while others wrote': ({ freshness }, maxBytes) => {
    const memory = new FreshMemory(freshness, maxBytes);
    const keep = memory.keep.bind(memory);
    return Object.assign(memory, {
      keep: (_: unknown, ...values: [string, Parameters<typeof keep>[2]]) =>
        keep(memory.check(), ...values),
    });
  },
  'that takes the commits of others for its own': ({ freshness }, maxBytes) =>
    new FreshMemory(freshness && { ...freshness, isNext: () => true }, maxBytes),
  'that takes a write without an effect for a commit': ({ freshness }, maxBytes) => {
    const memory = new FreshMemory(freshness, maxBytes);
    const commit = memory.commit.bind(memory);
    const pretend: typeof commit = (transact, changesOf) => {
      const before = freshness?.revision();
      return commit(transact, (result) =>
        freshness?.revision() === before ? [] : [...(changesOf(result) ?? []), ['none']],
      );
    };
    return Object.assign(memory, { commit: pretend });
  },
};

for (const [name, create] of Object.entries(BROKEN)) {
  test(`never stale: a memory ${name} is found out`, async (t) => {
    const { stale } = await playLedger(t, MAX_COMMITS, create);
    assert.ok(stale.length > 0);
  });
}
