// The routes of the six demonstrations.
import type { DemonstrationPath } from '../concurrency/demonstration.ts';
import type { Demonstrations } from '../concurrency/demonstrations.ts';
import { endpoint } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';

/** The request member of each demonstration that must be a non-empty list, if it has one. */
const LISTS: Readonly<Record<DemonstrationPath, 'items' | 'task_ids' | undefined>> = {
  '/counter/increment': undefined,
  '/semaphore/run': 'task_ids',
  '/event/sync': undefined,
  '/pool/run': 'items',
  '/producer-consumer/run': 'items',
  '/thread-local/run': 'items',
};

/** Returns one route for each demonstration. */
export function demonstrationRoutes(demonstrations: Demonstrations): Route[] {
  return Object.entries(LISTS).map(([path, list]) =>
    endpoint<unknown, Readonly<Record<string, unknown>>>('POST', path, async ({ body, call }) => {
      if (list && (body[list] as readonly unknown[]).length === 0)
        throw new Problem('bad-request', `${list} must not be empty`);
      const signal = call.signal();
      return jsonReply(200, await demonstrations.run(path as DemonstrationPath, body, signal));
    }),
  );
}
