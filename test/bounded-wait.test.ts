// Waits of bounded length: how they end, and that each leaves its queue once.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { waitWithin } from '../src/bounded-wait.ts';

const LONG_MS = 60_000;
const late = () => new Error('late');

/** Begins a wait, and counts how often it leaves. */
function start(ms: number, signal?: AbortSignal) {
  const wait = { left: 0, resolve: (_: string) => {}, reject: (_: unknown) => {} };
  const ended = waitWithin<string>({ ms, late, signal }, (resolve, reject) => {
    Object.assign(wait, { resolve, reject });
    return () => {
      wait.left += 1;
    };
  });
  return Object.assign(wait, { ended });
}

test('bounded wait: the first of its ends counts', async () => {
  const { signal } = new AbortController();
  const found = start(LONG_MS, signal);
  found.resolve('found');
  found.resolve('found again');
  found.reject(new Error('refused'));
  assert.equal(await found.ended, 'found');
  assert.equal(found.left, 1);
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

test('bounded wait: it ends when the time is over', async () => {
  for (const ms of [1, 0, -1]) {
    const wait = start(ms);
    await assert.rejects(wait.ended, /^Error: late$/);
    assert.equal(wait.left, 1);
  }
});

test('bounded wait: it ends when the signal aborts, and does not begin afterwards', async () => {
  const controller = new AbortController();
  const wait = start(LONG_MS, controller.signal);
  controller.abort(new Error('gone'));
  await assert.rejects(wait.ended, /^Error: gone$/);
  assert.equal(wait.left, 1);
  const none = start(LONG_MS, controller.signal);
  await assert.rejects(none.ended, /^Error: gone$/);
  none.resolve('never begun');
  assert.equal(none.left, 0);
});

test('bounded wait: one that ends while it begins leaves its queue, too', async () => {
  const queue = new Set(['a']);
  const ended = waitWithin({ ms: LONG_MS, late }, (_, reject) => {
    reject(new Error('refused'));
    return () => queue.delete('a');
  });
  await assert.rejects(ended, /^Error: refused$/);
  assert.equal(queue.size, 0);
});
