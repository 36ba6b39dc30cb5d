// The lease for writing, without processes: who holds it, who waits, and what happens when one of
// them disappears.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LeaseQueue } from '../../src/processes/lease-queue.ts';
import { WriteLease } from '../../src/processes/write-lease.ts';
import { until } from '../support/until.ts';

/** A lease that is granted when the test says so, and records of its calls. */
function clientLease() {
  const calls: string[] = [];
  const grants: ((othersWait: boolean) => void)[] = [];
  const lease = new WriteLease({
    acquire() {
      calls.push('acquire');
      return new Promise((grant) => grants.push(grant));
    },
    release: () => calls.push('release'),
  });
  return { calls, lease, grant: (othersWait: boolean) => grants.shift()?.(othersWait) };
}

/** Work that ends when the test says so. */
function heldWork() {
  const { promise, resolve } = deferred();
  let begun = false;
  return {
    work() {
      begun = true;
      return promise;
    },
    hasBegun: () => begun,
    end: resolve,
  };
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A queue with records of grants and notices; the holder `deaf` does not answer. */
function queueOf(overdueMs?: number, deaf?: string) {
  const granted: string[] = [];
  const notified: string[] = [];
  const probed: string[] = [];
  const queue = new LeaseQueue<string>(
    {
      notify: (holder) => notified.push(holder),
      probe: (holder) =>
        holder === deaf ? new Promise(() => {}) : Promise.resolve(probed.push(holder)),
    },
    overdueMs,
  );
  return {
    granted,
    notified,
    probed,
    release: (holder: string) => queue.release(holder),
    async acquire(holder: string) {
      const othersWait = await queue.acquire(holder);
      granted.push(othersWait ? `${holder}, others wait` : holder);
    },
  };
}

test('lease: requested once, and kept while nobody else waits', async () => {
  const { calls, lease, grant } = clientLease();
  const { work, hasBegun, end } = heldWork();
  const done = lease.use(work);
  await nextTurn();
  assert.equal(hasBegun(), false);
  grant(false);
  await until(hasBegun);
  end();
  await done;
  assert.equal(await lease.use(async () => 7), 7);
  assert.deepEqual(calls, ['acquire']);
});

test('lease: a second acquire waits for the same grant', async () => {
  const { calls, lease, grant } = clientLease();
  const { work, hasBegun } = heldWork();
  const acquired = lease.acquire();
  lease.use(work);
  await nextTurn();
  assert.equal(hasBegun(), false);
  grant(false);
  await acquired;
  await until(hasBegun);
  assert.deepEqual(calls, ['acquire']);
});

test('lease: after a failed request, the next use asks again', async () => {
  let failures = 1;
  const lease = new WriteLease({
    acquire: () => (failures-- > 0 ? Promise.reject(new Error('gone')) : Promise.resolve(false)),
    release: () => {},
  });
  await assert.rejects(
    lease.use(async () => 7),
    /gone/,
  );
  assert.equal(await lease.use(async () => 7), 7);
});

test('lease: released when others wait, after running work', async () => {
  const { calls, lease, grant } = clientLease();
  const { work, hasBegun, end } = heldWork();
  const done = lease.use(work);
  grant(false);
  await until(hasBegun);
  lease.onWanted();
  assert.deepEqual(calls, ['acquire']);
  end();
  await done;
  await until(() => calls.length === 2);
  assert.deepEqual(calls, ['acquire', 'release']);

  const again = lease.use(async () => {});
  grant(true);
  await again;
  await until(() => calls.length === 4);
  assert.deepEqual(calls, ['acquire', 'release', 'acquire', 'release']);

  const kept = lease.use(async () => {});
  grant(false);
  await kept;
  lease.onWanted();
  lease.onWanted();
  assert.deepEqual(calls.slice(4), ['acquire', 'release']);
});

test('lease: failed work releases it and rejects', async () => {
  const { calls, lease, grant } = clientLease();
  const failed = lease.use(() => Promise.reject(new Error('disk full')));
  grant(true);
  await assert.rejects(failed, /disk full/);
  await until(() => calls.length === 2);
  assert.deepEqual(calls, ['acquire', 'release']);
});

test('lease: a late notice does not cost the next grant', async () => {
  const { calls, lease, grant } = clientLease();
  lease.onWanted();
  const done = lease.use(async () => {});
  grant(false);
  await done;
  assert.deepEqual(calls, ['acquire']);
});

test('lease: a notice that arrives with the grant counts', async () => {
  const { calls, lease, grant } = clientLease();
  const { work, hasBegun, end } = heldWork();
  const done = lease.use(work);
  grant(false);
  // Node delivers all messages of a read before the code that awaits the first one continues.
  lease.onWanted();
  await until(hasBegun);
  end();
  await done;
  await until(() => calls.includes('release'));
});

test('lease: a granted one can be used first, else it is released', async () => {
  const { calls, lease, grant } = clientLease();
  const came = lease.acquire();
  grant(true);
  await came;
  assert.equal(await lease.use(async () => calls.length), 1);
  assert.deepEqual(calls, ['acquire', 'release']);

  const again = lease.acquire();
  grant(true);
  await again;
  await until(() => calls.length === 4);
  assert.deepEqual(calls, ['acquire', 'release', 'acquire', 'release']);
});

test('lease: granted in order; the holder is notified once', async () => {
  const { granted, notified, acquire, release } = queueOf();
  for (const holder of ['a', 'b', 'c', 'd']) acquire(holder);
  await until(() => granted.length === 1);
  await nextTurn();
  assert.deepEqual({ granted, notified }, { granted: ['a'], notified: ['a'] });
  for (const holder of ['a', 'b', 'c', 'd']) release(holder);
  await until(() => granted.length === 4);
  assert.deepEqual(granted, ['a', 'b, others wait', 'c, others wait', 'd']);
  assert.deepEqual(notified, ['a']);
  acquire('a');
  await until(() => granted.length === 5);
});

test('lease: a process that ended loses it and its place', async () => {
  const { granted, acquire, release } = queueOf();
  for (const holder of ['a', 'b', 'c']) acquire(holder);
  release('b');
  release('a');
  await until(() => granted.length === 2);
  assert.deepEqual(granted, ['a', 'c']);
  release('a');
  acquire('d');
  await nextTurn();
  assert.equal(granted.length, 2, 'c still has the lease');
});

test('lease: overdue only when others wait for it', async () => {
  const { granted, acquire, release } = queueOf(10, 'b');
  acquire('a');
  acquire('b');
  release('a');
  const end = performance.now() + 40;
  await until(() => granted.length === 2 && performance.now() > end);
  acquire('c');
  await nextTurn();
  assert.deepEqual(granted, ['a', 'b']);
  release('b');
  await until(() => granted.length === 3);
});

test('lease: kept as long as the holder answers', async () => {
  const { granted, probed, acquire, release } = queueOf(5);
  acquire('a');
  acquire('b');
  await until(() => probed.length === 4);
  assert.deepEqual(granted, ['a']);
  release('a');
  await until(() => granted.length === 2);
});

test('lease: taken from a holder that does not answer', async () => {
  const { granted, acquire, release } = queueOf(20, 'stuck');
  acquire('stuck');
  acquire('b');
  acquire('c');
  await until(() => granted.length === 2);
  assert.deepEqual(granted, ['stuck', 'b, others wait']);
  release('b');
  await until(() => granted.length === 3);
  // The holder recovers and releases a lease that it no longer has.
  release('stuck');
  acquire('d');
  await nextTurn();
  assert.equal(granted.length, 3, 'c still has the lease');
});
