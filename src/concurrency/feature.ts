// The routes of the six demonstrations.

import { endpoint } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import { DEMONSTRATIONS } from './tasks.ts';
import type { ThreadPool } from './thread-pool.ts';

/** Returns one route for each demonstration; it runs on `threads`. */
export function demonstrationRoutes(threads: ThreadPool): Route[] {
  return Object.entries(DEMONSTRATIONS).map(([path, { prepare }]) =>
    endpoint<unknown, object>('POST', path, async ({ body, call }) => {
      for (const [name, value] of Object.entries(body)) {
        if (Array.isArray(value) && value.length === 0)
          throw new Problem('bad-request', `${name} must not be empty`);
      }
      const { inputs, answer } = prepare(body);
      return jsonReply(200, answer(await threads.run(path, inputs, call.signal())));
    }),
  );
}
