// The tasks that the threads of the pool can run: the work of each demonstration.
import { counter } from './counter.ts';
import type { Demonstration, DemonstrationPath } from './demonstration.ts';
import { event } from './event.ts';
import { pool } from './pool.ts';
import { producerConsumer } from './producer-consumer.ts';
import { semaphore } from './semaphore.ts';
import type { Job, TaskModule } from './thread.ts';
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

/** The work of each demonstration by path. */
export const tasks: TaskModule['tasks'] = Object.fromEntries(
  Object.entries(DEMONSTRATIONS).map(([path, { work }]) => [path, work]),
);

const WARM_UP_COUNT = 1_000;

/** Returns a run of the counter by a single thread. */
export function warmUp(): Job {
  const input = counter.prepare({ workers: 1, count: WARM_UP_COUNT }).inputFor(0);
  return { task: '/counter/increment' satisfies DemonstrationPath, index: 0, input };
}
