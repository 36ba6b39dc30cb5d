// The module that each thread of the pool loads: the demonstrations and their work.
import { counter } from './counter.ts';
import type { Demonstration, DemonstrationPath } from './demonstration.ts';
import { event } from './event.ts';
import { pool } from './pool.ts';
import { producerConsumer } from './producer-consumer.ts';
import { semaphore } from './semaphore.ts';
import { type Job, runThread, type Tasks } from './thread.ts';
import { threadLocal } from './thread-local.ts';

/** The demonstrations by path. */
export const DEMONSTRATIONS: Readonly<
  Record<DemonstrationPath, Demonstration<unknown, unknown, unknown>>
> = {
  '/counter/increment': counter,
  '/semaphore/run': semaphore,
  '/event/sync': event,
  '/pool/run': pool,
  '/producer-consumer/run': producerConsumer,
  '/thread-local/run': threadLocal,
};

const TASKS: Tasks = Object.fromEntries(
  Object.entries(DEMONSTRATIONS).map(([path, { work }]) => [path, work]),
);

/** Returns a run of the counter by a single thread. */
function warmUp(): Job {
  const [input] = counter.prepare({ workers: 1, count: 1_000 }).inputs;
  return { task: '/counter/increment' satisfies DemonstrationPath, index: 0, input };
}

runThread(TASKS, warmUp);
