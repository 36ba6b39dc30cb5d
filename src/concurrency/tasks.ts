// What the threads can do: the work of all demonstrations.
import { counter } from './counter.ts';
import type { Demonstration } from './demonstration.ts';
import { event } from './event.ts';
import { pool } from './pool.ts';
import { producerConsumer } from './producer-consumer.ts';
import { semaphore } from './semaphore.ts';
import type { Job, TaskModule } from './thread.ts';
import { threadLocal } from './thread-local.ts';

/** All demonstrations. */
export const DEMONSTRATIONS: readonly Demonstration<unknown, unknown, unknown>[] = [
  counter,
  semaphore,
  event,
  pool,
  producerConsumer,
  threadLocal,
];

/** The work of each demonstration, by its path. */
export const tasks: TaskModule['tasks'] = Object.fromEntries(DEMONSTRATIONS.map(({ path, work }) => [path, work]));

const REHEARSED_COUNT = 1_000;

/** The counter on memory of its own. */
export function rehearsal(): Job {
  const input = counter.prepare({ workers: 1, count: REHEARSED_COUNT }).inputFor(0);
  return { task: counter.path, index: 0, input };
}
