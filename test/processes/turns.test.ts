// The turn at writing, without processes: who holds it, who waits, and what happens when one of them disappears.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTurn, createTurns } from '../../src/processes/turns.ts';
import { until } from '../support/until.ts';

/** An office that grants turns when the test says so, and records its calls. */
function office() {
  const calls: string[] = [];
  const grants: ((othersWait: boolean) => void)[] = [];
  const turn = createTurn({
    ask() {
      calls.push('ask');
      return new Promise((grant) => grants.push(grant));
    },
    pass: () => calls.push('pass'),
  });
  return { calls, turn, grant: (othersWait: boolean) => grants.shift()?.(othersWait) };
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

/** Turns with records of grants and notices; the holder `deaf` does not answer. */
function line(overdueMs?: number, deaf?: string) {
  const granted: string[] = [];
  const told: string[] = [];
  const reached: string[] = [];
  const turns = createTurns<string>(
    {
      tell: (holder) => told.push(holder),
      reach: (holder) => (holder === deaf ? new Promise(() => {}) : Promise.resolve(reached.push(holder))),
    },
    overdueMs,
  );
  return {
    granted,
    told,
    reached,
    pass: turns.pass,
    async ask(holder: string) {
      const othersWait = await turns.ask(holder);
      granted.push(othersWait ? `${holder}, others wait` : holder);
    },
  };
}

test('turns: requested once, and kept while nobody else waits', async () => {
  const { calls, turn, grant } = office();
  const { work, hasBegun, end } = heldWork();
  const done = turn.use(work);
  await nextTurn();
  assert.equal(hasBegun(), false);
  grant(false);
  await until(hasBegun);
  end();
  await done;
  assert.equal(await turn.use(async () => 7), 7);
  assert.deepEqual(calls, ['ask']);
});

test('turns: passed on when others wait, after running work', async () => {
  const { calls, turn, grant } = office();
  const { work, hasBegun, end } = heldWork();
  const done = turn.use(work);
  grant(false);
  await until(hasBegun);
  turn.wanted();
  assert.deepEqual(calls, ['ask']);
  end();
  await done;
  await until(() => calls.length === 2);
  assert.deepEqual(calls, ['ask', 'pass']);

  const again = turn.use(async () => {});
  grant(true);
  await again;
  await until(() => calls.length === 4);
  assert.deepEqual(calls, ['ask', 'pass', 'ask', 'pass']);

  const kept = turn.use(async () => {});
  grant(false);
  await kept;
  turn.wanted();
  turn.wanted();
  assert.deepEqual(calls.slice(4), ['ask', 'pass']);
});

test('turns: failed work passes the turn on and rejects', async () => {
  const { calls, turn, grant } = office();
  const failed = turn.use(() => Promise.reject(new Error('disk full')));
  grant(true);
  await assert.rejects(failed, /disk full/);
  await until(() => calls.length === 2);
  assert.deepEqual(calls, ['ask', 'pass']);
});

test('turns: a late notice does not cost the next turn', async () => {
  const { calls, turn, grant } = office();
  turn.wanted();
  const done = turn.use(async () => {});
  grant(false);
  await done;
  assert.deepEqual(calls, ['ask']);
});

test('turns: a notice that arrives with the turn counts', async () => {
  const { calls, turn, grant } = office();
  const { work, hasBegun, end } = heldWork();
  const done = turn.use(work);
  grant(false);
  // Node delivers all messages of a read before the code that awaits the first one continues.
  turn.wanted();
  await until(hasBegun);
  end();
  await done;
  await until(() => calls.includes('pass'));
});

test('turns: a granted one can be used first, else it is passed on', async () => {
  const { calls, turn, grant } = office();
  const came = turn.come();
  grant(true);
  await came;
  assert.equal(await turn.use(async () => calls.length), 1);
  assert.deepEqual(calls, ['ask', 'pass']);

  const again = turn.come();
  grant(true);
  await again;
  await until(() => calls.length === 4);
  assert.deepEqual(calls, ['ask', 'pass', 'ask', 'pass']);
});

test('turns: granted in order; the holder is notified once', async () => {
  const { granted, told, ask, pass } = line();
  for (const holder of ['a', 'b', 'c', 'd']) ask(holder);
  await until(() => granted.length === 1);
  await nextTurn();
  assert.deepEqual({ granted, told }, { granted: ['a'], told: ['a'] });
  for (const holder of ['a', 'b', 'c', 'd']) pass(holder);
  await until(() => granted.length === 4);
  assert.deepEqual(granted, ['a', 'b, others wait', 'c, others wait', 'd']);
  assert.deepEqual(told, ['a']);
  ask('a');
  await until(() => granted.length === 5);
});

test('turns: a process that ended loses its turn and its place', async () => {
  const { granted, ask, pass } = line();
  for (const holder of ['a', 'b', 'c']) ask(holder);
  pass('b');
  pass('a');
  await until(() => granted.length === 2);
  assert.deepEqual(granted, ['a', 'c']);
  pass('a');
  ask('d');
  await nextTurn();
  assert.equal(granted.length, 2, 'c has its turn still');
});

test('turns: only the turn that others wait for is overdue', async () => {
  const { granted, ask, pass } = line(10, 'b');
  ask('a');
  ask('b');
  pass('a');
  const end = performance.now() + 40;
  await until(() => granted.length === 2 && performance.now() > end);
  ask('c');
  await nextTurn();
  assert.deepEqual(granted, ['a', 'b']);
  pass('b');
  await until(() => granted.length === 3);
});

test('turns: kept as long as the holder answers', async () => {
  const { granted, reached, ask, pass } = line(5);
  ask('a');
  ask('b');
  await until(() => reached.length === 4);
  assert.deepEqual(granted, ['a']);
  pass('a');
  await until(() => granted.length === 2);
});

test('turns: taken from a holder that does not answer', async () => {
  const { granted, ask, pass } = line(20, 'stuck');
  ask('stuck');
  ask('b');
  ask('c');
  await until(() => granted.length === 2);
  assert.deepEqual(granted, ['stuck', 'b, others wait']);
  pass('b');
  await until(() => granted.length === 3);
  // The holder recovers and returns a turn that it no longer has.
  pass('stuck');
  ask('d');
  await nextTurn();
  assert.equal(granted.length, 3, 'c has its turn still');
});
