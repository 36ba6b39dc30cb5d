// The queue of slow reads, with reads that the test holds and ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SLOW_READ_LIMITS, SlowReads } from '../../src/lists/slow-reads.ts';
import { QueueFull } from '../../src/storage/batcher.ts';
import { DatabaseUnavailable, ReadTooSlow } from '../../src/storage/database.ts';
import { setLimits } from '../support/overload.ts';
import { until } from '../support/until.ts';

/** A lane in which the test ends the running read. */
function holdReads() {
  const lane = new SlowReads();
  const started: string[] = [];
  let end = () => {};
  const run = (name: string, client: string, signal?: AbortSignal) =>
    lane.run(
      () =>
        new Promise<string>((resolve) => {
          started.push(name);
          end = () => resolve(name);
        }),
      { clientId: () => client, signal: () => signal ?? new AbortController().signal },
    );
  /** Ends the read that is running when `count` have started. */
  const endAfter = async (count: number) => {
    await until(() => started.length === count);
    end();
  };
  return { run, started, endAfter };
}

test('slow reads: one at a time, in turn for each client', async () => {
  const { run, started, endAfter } = holdReads();
  const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name, name.slice(0, 1)));
  for (let count = 1; count <= 6; count += 1) {
    await endAfter(count);
    assert.equal(started.length, count);
  }
  await Promise.all(all);
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('slow reads: a failed read does not stop the others', async () => {
  const lane = new SlowReads();
  const failed = lane.run(() => Promise.reject(new Error('a')));
  const next = lane.run(async () => 'b');
  await assert.rejects(failed, /^Error: a$/);
  assert.equal(await next, 'b');
});

test('slow reads: without a database, all that wait are rejected', async () => {
  const lane = new SlowReads();
  const gone = new DatabaseUnavailable('gone');
  const all = [Promise.reject(gone), undefined, undefined].map((work) =>
    lane.run(async () => work),
  );
  await Promise.all(all.map((each) => assert.rejects(each, gone)));
  assert.equal(await lane.run(async () => 'later'), 'later');
});

test('slow reads: the places are bounded, and a client may hold half of them', async (t) => {
  setLimits(t, SLOW_READ_LIMITS, { waiting: 4 });
  const { run, endAfter } = holdReads();
  const admitted = ['a', 'a', 'a'].map((client) => run(client, client));
  await assert.rejects(run('a', 'a'), QueueFull);
  admitted.push(run('b', 'b'), run('c', 'c'));
  await assert.rejects(run('d', 'd'), QueueFull);
  for (let count = 1; count <= 5; count += 1) await endAfter(count);
  await Promise.all(admitted);
});

test('slow reads: a read that waits too long is refused', async (t) => {
  setLimits(t, SLOW_READ_LIMITS, { waitMs: 0 });
  const { run, started, endAfter } = holdReads();
  const first = run('a', 'a');
  await assert.rejects(run('b', 'b'), ReadTooSlow);
  await endAfter(1);
  await first;
  const last = run('c', 'c');
  await endAfter(2);
  await last;
  assert.deepEqual(started, ['a', 'c']);
});

test('slow reads: a client that leaves gives up its place', async (t) => {
  setLimits(t, SLOW_READ_LIMITS, { waiting: 2 });
  const { run, started, endAfter } = holdReads();
  const first = run('a1', 'a');
  const leaving = new AbortController();
  const left = run('a2', 'a', leaving.signal);
  await assert.rejects(run('a3', 'a'), QueueFull);
  leaving.abort(new Error('gone'));
  await assert.rejects(left, /^Error: gone$/);
  await assert.rejects(run('a4', 'a', leaving.signal), /^Error: gone$/);
  const last = run('a5', 'a');
  await endAfter(1);
  await endAfter(2);
  await Promise.all([first, last]);
  assert.deepEqual(started, ['a1', 'a5']);
});
