// Kills threads of the demonstrations at random, whatever they are doing, while clients make
// requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { sharedCells } from '../../src/concurrency/sync.ts';
import type { Identity } from '../concurrency/pool-tasks.ts';
import { assertServes, startPool, type WatchedPool } from '../concurrency/watched-pool.ts';
import { createRandom, type Random } from '../support/mutations.ts';
import { CANNOT_LOOK, threadsOf } from '../support/threads.ts';
import { until } from '../support/until.ts';

const KILLS = 200;
const CLIENTS = 6;
const IDLE_THREADS = 3;
const MAX_THREADS = 10;

test(`thread pool: ${KILLS} killed threads cost only their own requests`, async (t) => {
  const warm = startPool(t);
  await assertServes(warm);
  await warm.close();
  const base = CANNOT_LOOK ? 0 : threadsOf(process.pid);
  const handles = openHandles();
  const pool = startPool(t, { idle: IDLE_THREADS, maxThreads: MAX_THREADS, refillMs: 1 });
  const { right, failed } = await killAtRandom(pool, createRandom(31));
  t.diagnostic(
    `${right} requests were right, ${failed} failed, ${pool.started.length} threads were started`,
  );
  assert.ok(right > 0 && failed > 0);
  assert.ok(pool.most() <= MAX_THREADS);
  await assertServes(pool, 3);
  await until(() => pool.counts().alive === IDLE_THREADS && pool.counts().idle === IDLE_THREADS);
  // The system takes a moment longer to forget a thread that has ended.
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base + IDLE_THREADS);
  await pool.close();
  assert.deepEqual([pool.counts(), pool.living.size], [{ alive: 0, idle: 0, waiting: 0 }, 0]);
  await until(() => openHandles() === handles);
  if (!CANNOT_LOOK) await until(() => threadsOf(process.pid) <= base);
});

/** Resolves with the numbers of requests that were right and that failed. */
async function killAtRandom(pool: WatchedPool, random: Random) {
  const killed = new Set<Worker>();
  const count = { right: 0, failed: 0 };

  async function request(): Promise<void> {
    const size = 1 + random.below(2);
    const turn = sharedCells(1, { 0: size - 1 });
    try {
      const answers = (await pool.run('reverse', Array(size).fill(turn))) as readonly Identity[];
      assert.deepEqual(
        answers.map(({ index, served }) => [index, served]),
        Array.from({ length: size }, (_, index) => [index, 1]),
      );
      count.right += 1;
    } catch (error) {
      assert.match(String(error), /ended before its job did/);
      count.failed += 1;
    }
  }

  async function kill(): Promise<void> {
    const left = [...pool.living].filter((worker) => !killed.has(worker));
    for (let turns = random.below(20); turns > 0; turns -= 1) await nextTurn();
    const victim = left[random.below(left.length)];
    if (!victim || !pool.living.has(victim)) return;
    killed.add(victim);
    victim.terminate();
  }

  const clients = Array.from({ length: CLIENTS }, async () => {
    while (killed.size < KILLS) await Promise.all([request(), !random.oneIn(5) && kill()]);
  });
  await Promise.all(clients);
  return count;
}

/** Lists what keeps the process from ending, except the work of this turn of the event loop. */
function openHandles(): string {
  const handles = process.getActiveResourcesInfo().filter((each) => each !== 'Immediate');
  return handles.sort().join(', ');
}
