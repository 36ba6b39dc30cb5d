// The counter on piscina: 16 reused threads with the same lock as ours. Prints the milliseconds of
// each run.
import { Piscina } from 'piscina';

const WORKERS = 16;
const COUNT = 1_000;
const pool = new Piscina({
  filename: new URL('counter-piscina-task.mjs', import.meta.url).href,
  minThreads: WORKERS,
  maxThreads: WORKERS,
  idleTimeout: 60_000,
});

async function run() {
  const cells = new Int32Array(new SharedArrayBuffer(8));
  const started = performance.now();
  await Promise.all(Array.from({ length: WORKERS }, () => pool.run({ cells, count: COUNT })));
  const elapsed = performance.now() - started;
  if (cells[1] !== WORKERS * COUNT) throw new Error('an increment was lost');
  return elapsed;
}

for (let warm = 0; warm < 5; warm += 1) await run();
for (let round = 0; round < Number(process.argv[2]); round += 1) console.log(await run());
await pool.destroy();
