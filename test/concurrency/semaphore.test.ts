// The semaphore demonstration on one thread, while the test holds the only permit.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { semaphore } from '../../src/concurrency/semaphore.ts';
import { Semaphore } from '../../src/concurrency/sync.ts';
import { until } from '../support/until.ts';
import { sleepersOn } from './test-threads.ts';

const MODULE = new URL('../../src/concurrency/semaphore.js', import.meta.url).href;
const THREAD = `
  import(${JSON.stringify(MODULE)}).then(({ semaphore }) => {
    const { parentPort, workerData } = require('node:worker_threads');
    parentPort.postMessage(semaphore.work(workerData));
  });
`;

test('semaphore: a task counts only while it has a permit', async (t) => {
  const { inputs, answer } = semaphore.prepare({ task_ids: [7, 8, 9], concurrency_limit: 1 });
  const [input = assert.fail()] = inputs;
  const held = new Semaphore(input.permits);
  held.acquire();
  const thread = new Worker(THREAD, { eval: true, workerData: input });
  t.after(() => thread.terminate());
  const ended = once(thread, 'message');
  await until(() => sleepersOn(input.permits, 0) === 1);
  assert.equal(input.running[0], 0, 'a task counts while it waits');
  held.release();
  const { completed, peak_concurrency } = JSON.parse(answer(await ended));
  assert.deepEqual({ completed, peak_concurrency }, { completed: [7, 8, 9], peak_concurrency: 1 });
});
