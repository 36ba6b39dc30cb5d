// The module that each thread of the pool loads: the demonstrations and their work.
import { counter } from './counter.ts';
import { event } from './event.ts';
import { pool } from './pool.ts';
import { producerConsumer } from './producer-consumer.ts';
import { semaphore } from './semaphore.ts';
import { type Demonstration, runThread } from './thread.ts';
import { threadLocal } from './thread-local.ts';

export const DEMONSTRATIONS: Readonly<Record<string, Demonstration<unknown, unknown, unknown>>> = {
  '/counter/increment': counter,
  '/semaphore/run': semaphore,
  '/event/sync': event,
  '/pool/run': pool,
  '/producer-consumer/run': producerConsumer,
  '/thread-local/run': threadLocal,
};

export const TASKS = new URL(import.meta.url);

runThread(DEMONSTRATIONS);
