// The routes of the six demonstrations.
import { DEMONSTRATIONS } from '../concurrency/tasks.ts';
import type { ThreadPool } from '../concurrency/thread-pool.ts';
import { endpoint } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';

/** The request member that must be a non-empty list, of the demonstrations that have one. */
const LISTS: Readonly<Record<string, 'items' | 'task_ids'>> = {
  '/semaphore/run': 'task_ids',
  '/pool/run': 'items',
  '/producer-consumer/run': 'items',
  '/thread-local/run': 'items',
};

/** Returns one route for each demonstration; it runs on `threads`. */
export function demonstrationRoutes(threads: ThreadPool): Route[] {
  return Object.entries(DEMONSTRATIONS).map(([path, { prepare }]) => {
    const list = LISTS[path];
    return endpoint<unknown, Readonly<Record<string, unknown>>>('POST', path, async (request) => {
      const { body, call } = request;
      if (list && (body[list] as readonly unknown[]).length === 0)
        throw new Problem('bad-request', `${list} must not be empty`);
      const { inputs, answer } = prepare(body);
      return jsonReply(200, answer(await threads.run(path, inputs, call.signal())));
    });
  });
}
