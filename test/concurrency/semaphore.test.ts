// The semaphore demonstration on one thread, while the test holds the only permit.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { semaphore } from '../../src/concurrency/semaphore.ts';
import { openSemaphore } from '../../src/concurrency/sync.ts';
import { until } from '../support/until.ts';

const MODULE = new URL('../../src/concurrency/semaphore.js', import.meta.url).href;
const THREAD = `
  import(${JSON.stringify(MODULE)}).then(({ semaphore }) => {
    semaphore.work(require('node:worker_threads').workerData);
  });
`;

test('semaphore: a task counts only while it has a permit', async (t) => {
  const { inputFor, answer } = semaphore.prepare({ task_ids: [7, 8, 9], concurrency_limit: 1 });
  const input = inputFor(0);
  const { permits, progress } = input as { permits: Int32Array; progress: Int32Array };
  const held = openSemaphore(permits);
  held.acquire();
  const thread = new Worker(THREAD, { eval: true, workerData: input });
  const ended = once(thread, 'exit');
  t.after(() => thread.terminate());
  await until(() => permits[1] === 1);
  assert.deepEqual([...progress], [1, 0, 0, 0, 0], 'a task counts while it waits');
  held.release();
  await ended;
  assert.deepEqual(JSON.parse(String(answer([]))), {
    total: 3,
    concurrency_limit: 1,
    peak_concurrency: 1,
    completed: [7, 8, 9],
  });
});
