// Runs the counter on our own pool without HTTP. Prints the milliseconds of one run without idle
// threads, then those of each run with idle threads.
import { setTimeout as sleep } from 'node:timers/promises';
import { counter } from '../../dist/src/concurrency/counter.js';
import { ThreadPool } from '../../dist/src/concurrency/thread-pool.js';

const WORKERS = 16;
const tasks = new URL('../../dist/src/concurrency/tasks.js', import.meta.url);
const pool = new ThreadPool(tasks, 64);

async function run() {
  const started = performance.now();
  const { inputs, answer } = counter.prepare({ workers: WORKERS, count: 1_000 });
  const text = answer(await pool.run('/counter/increment', inputs));
  const elapsed = performance.now() - started;
  if (!JSON.parse(text).consistent) throw new Error(text);
  return elapsed;
}

console.log(await run());
for (let round = 0; round < Number(process.argv[2]); round += 1) {
  while (pool.counts().idle < WORKERS) await sleep(20);
  console.log(await run());
}
await pool.close();
