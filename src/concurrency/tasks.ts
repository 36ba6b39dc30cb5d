// The tasks of the pool's threads: the work of all demonstrations.
import { counter } from './counter.ts';
import type { Demonstration, DemonstrationPath } from './demonstration.ts';
import { event } from './event.ts';
import { pool } from './pool.ts';
import { producerConsumer } from './producer-consumer.ts';
import { semaphore } from './semaphore.ts';
import type { Job, TaskModule } from './thread.ts';
import { threadLocal } from './thread-local.ts';

/** All demonstrations, by their paths. */
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

/** The work of each demonstration, by its path. */
export const tasks: TaskModule['tasks'] = Object.fromEntries(
  Object.entries(DEMONSTRATIONS).map(([path, { work }]) => [path, work]),
);

const WARM_UP_COUNT = 1_000;

/** Returns a job of the counter on its own memory. */
export function warmUp(): Job {
  const input = counter.prepare({ workers: 1, count: WARM_UP_COUNT }).inputFor(0);
  return { task: '/counter/increment' satisfies DemonstrationPath, index: 0, input };
}
