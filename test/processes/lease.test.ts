// The write lease: its holder, the processes that wait for it, and the end of a holder. The tests
// start no processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LeaseQueue, WriteLease } from '../../src/processes/lease.ts';
import { createGate } from '../support/bare-server.ts';
import { until } from '../support/until.ts';

/** A lease that is granted when the test says so, work that ends so, and records of all calls. */
function clientLease() {
  const calls: string[] = [];
  const grants: (() => void)[] = [];
  const acquire = () => {
    calls.push('acquire');
    return new Promise<void>((grant) => grants.push(grant));
  };
  const gate = createGate();
  const work = () => {
    calls.push('work');
    return gate.passed;
  };
  const lease = new WriteLease(acquire, () => calls.push('release'));
  return { calls, lease, work, gate, grant: () => grants.shift()?.() };
}

/** A queue with records of grants and notices. */
function queueOf() {
  const granted: string[] = [];
  const notified: string[] = [];
  const queue = new LeaseQueue<string>((holder) => notified.push(holder));
  return {
    granted,
    notified,
    acquire: (...holders: string[]) =>
      holders.forEach(async (holder) => {
        await queue.acquire(holder);
        granted.push(holder);
      }),
    /** Ends leases, and lets the next ones be granted. */
    async release(...holders: string[]) {
      for (const holder of holders) {
        queue.release(holder);
        await nextTurn();
      }
    },
  };
}

test('lease: requested once, and kept while nobody else waits', async () => {
  const { calls, lease, work, gate, grant } = clientLease();
  const acquired = lease.acquire();
  const done = lease.use(work);
  await nextTurn();
  assert.deepEqual(calls, ['acquire']);
  grant();
  await acquired;
  gate.open();
  await done;
  assert.equal(await lease.use(async () => 7), 7);
  assert.deepEqual(calls, ['acquire', 'work']);
});

test('lease: after a failed request, the next use asks again', async () => {
  let failures = 1;
  const acquire = async () => {
    if (failures-- > 0) assert.fail('gone');
  };
  const lease = new WriteLease(acquire, () => {});
  const work = async () => 7;
  await assert.rejects(lease.use(work), /gone/);
  assert.equal(await lease.use(work), 7);
});

test('lease: released when others wait, after running work', async () => {
  const { calls, lease, work, gate, grant } = clientLease();
  const done = lease.use(work);
  grant();
  await until(() => calls.includes('work'));
  lease.releaseWhenIdle();
  assert.deepEqual(calls, ['acquire', 'work']);
  gate.open();
  await done;
  assert.deepEqual(calls, ['acquire', 'work', 'release']);

  const kept = lease.use(async () => {});
  grant();
  await kept;
  lease.releaseWhenIdle();
  lease.releaseWhenIdle();
  assert.deepEqual(calls.slice(3), ['acquire', 'release']);
});

test('lease: failed work releases it and rejects', async () => {
  const { calls, lease, grant } = clientLease();
  const failed = lease.use(() => Promise.reject(new Error('disk full')));
  lease.releaseWhenIdle();
  grant();
  await assert.rejects(failed, /disk full/);
  assert.deepEqual(calls, ['acquire', 'release']);
});

test('lease: a late notice does not cost the next grant', async () => {
  const { calls, lease, grant } = clientLease();
  lease.releaseWhenIdle();
  const done = lease.use(async () => {});
  grant();
  await done;
  assert.deepEqual(calls, ['acquire']);
});

test('lease: a notice that arrives with the grant counts', async () => {
  const { calls, lease, grant } = clientLease();
  const done = lease.use(async () => {});
  grant();
  // Node delivers all messages of a read before the code that awaits the first one continues.
  lease.releaseWhenIdle();
  await done;
  assert.deepEqual(calls, ['acquire', 'release']);
});

test('lease: once granted it can be used before it is released', async () => {
  const { calls, lease, grant } = clientLease();
  for (const length of [2, 4]) {
    const came = lease.acquire();
    lease.releaseWhenIdle();
    grant();
    await came;
    if (length === 2) assert.equal(await lease.use(async () => calls.length), 1);
    await until(() => calls.length === length);
  }
  assert.deepEqual(calls, ['acquire', 'release', 'acquire', 'release']);
});

test('lease: granted in order; each holder is notified once while others wait', async () => {
  const { granted, notified, acquire, release } = queueOf();
  acquire('a', 'b', 'c', 'd');
  await nextTurn();
  assert.deepEqual({ granted, notified }, { granted: ['a'], notified: ['a'] });
  await release('a', 'b', 'c', 'd');
  assert.deepEqual(granted, ['a', 'b', 'c', 'd']);
  assert.deepEqual(notified, ['a', 'b', 'c']);
  acquire('a');
  await nextTurn();
  assert.equal(granted.at(-1), 'a');
});

test('lease: a process that ended loses it and its place', async () => {
  const { granted, acquire, release } = queueOf();
  acquire('a', 'b', 'c');
  await release('b', 'a');
  assert.deepEqual(granted, ['a', 'c']);
  // `c` still has the lease.
  acquire('d');
  await release('a');
  assert.deepEqual(granted, ['a', 'c']);
});

test('lease: kept for any time while nobody else waits', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { granted, acquire, release } = queueOf();
  acquire('a', 'b');
  await release('a');
  t.mock.timers.tick(60_000);
  acquire('c');
  await nextTurn();
  assert.deepEqual(granted, ['a', 'b']);
  await release('b');
  assert.deepEqual(granted, ['a', 'b', 'c']);
});

test('lease: taken from a holder that keeps it too long while others wait', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { granted, acquire, release } = queueOf();
  acquire('stuck', 'b', 'c');
  t.mock.timers.tick(1_999);
  await nextTurn();
  assert.deepEqual(granted, ['stuck']);
  t.mock.timers.tick(1);
  await nextTurn();
  assert.deepEqual(granted, ['stuck', 'b']);
  t.mock.timers.tick(2_000);
  await nextTurn();
  assert.deepEqual(granted, ['stuck', 'b', 'c']);
  // The holders recover and release a lease that they no longer have.
  acquire('d');
  await release('b', 'stuck');
  assert.equal(granted.length, 3);
});
