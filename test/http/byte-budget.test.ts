// The budget that large answers share: who gets room, in which order, and who does not.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ByteBudget } from '../../src/http/byte-budget.ts';
import { DISPATCH_LIMITS } from '../../src/http/limits.ts';
import { ClientGone, Problem } from '../../src/http/problem.ts';
import { setLimits } from '../support/overload.ts';

function connect(budget: ByteBudget) {
  const response = new PassThrough();
  const gone = new AbortController();
  return {
    hold: (bytes: number) => budget.hold(response, bytes),
    heldBytes: () => budget.heldBy(response),
    reserve: (bytes: number) => budget.reserve(response, bytes, gone.signal),
    close() {
      response.destroy();
      gone.abort(new ClientGone());
    },
  };
}

const isRefusal = (error: unknown) =>
  error instanceof Problem && error.slug === 'service-unavailable' && error.message === 'full';

test('byte budget: who waits gets room in the order of arrival', async () => {
  const budget = new ByteBudget(100, 'full');
  const order: string[] = [];
  const [first, second, third] = [connect(budget), connect(budget), connect(budget)];
  await first.reserve(80);
  const large = second.reserve(90).then(() => order.push('large'));
  // It would fit, but came later.
  const small = third.reserve(10).then(() => order.push('small'));
  await nextTurn();
  assert.deepEqual([order, second.heldBytes()], [[], 0]);
  first.hold(5);
  await large;
  assert.throws(() => budget.ensureRoom(6), isRefusal);
  budget.ensureRoom(5);
  first.close();
  await small;
  assert.deepEqual(order, ['large', 'small']);
  assert.throws(() => budget.ensureRoom(), isRefusal);
});

test('byte budget: who holds enough does not wait for more', async () => {
  const budget = new ByteBudget(100, 'full');
  const { heldBytes, close, reserve } = connect(budget);
  await reserve(80);
  await reserve(80);
  assert.equal(heldBytes(), 80);
  close();
  await nextTurn();
  budget.ensureRoom(100);
});

test('byte budget: a wait has a limit, and so has the number of those who wait', async (t) => {
  setLimits(t, DISPATCH_LIMITS, { replyWaitMs: 20, waitingReplies: 2 });
  const budget = new ByteBudget(100, 'full');
  const { hold } = connect(budget);
  hold(100);
  const waiting = [connect(budget), connect(budget)].map((each) => each.reserve(1));
  await assert.rejects(connect(budget).reserve(1), isRefusal);
  for (const each of waiting) await assert.rejects(each, isRefusal);
  hold(99);
  await connect(budget).reserve(1);
});

test('byte budget: the time that others take to read does not count', async (t) => {
  setLimits(t, DISPATCH_LIMITS, { replyWaitMs: 20 });
  const budget = new ByteBudget(100, 'full');
  const [reader, second, third] = [connect(budget), connect(budget), connect(budget)];
  await reader.reserve(80);
  const waiting = second.reserve(80);
  const full = new ByteBudget(0, 'full');
  for (let round = 0; round < 3; round += 1)
    await assert.rejects(connect(full).reserve(1), isRefusal);
  // It sends now.
  reader.hold(20);
  await waiting;
  second.hold(80);
  await assert.rejects(third.reserve(80), isRefusal);
});

test('byte budget: who leaves waits no longer and keeps nothing', async () => {
  const budget = new ByteBudget(100, 'full');
  const holder = connect(budget);
  const leaving = connect(budget);
  const next = connect(budget);
  holder.hold(50);
  const left = leaving.reserve(60);
  const reserved = next.reserve(50);
  leaving.close();
  await assert.rejects(left, ClientGone);
  await reserved;
  holder.close();
  next.close();
  await nextTurn();
  leaving.hold(1);
  budget.ensureRoom(100);
});
