// The six demonstrations of specification section 4.6: real threads that work together on shared memory.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Crews } from './crew.ts';
import { DEMONSTRATIONS } from './tasks.ts';

/** Returns the routes of the demonstrations, whose threads come from `crews`. */
export function demonstrationRoutes(crews: Crews): Route[] {
  return DEMONSTRATIONS.map(({ path, list, prepare }) =>
    endpoint<unknown, Readonly<Record<string, unknown>>>('POST', path, async ({ body, call }) => {
      if (list && (body[list] as readonly unknown[]).length === 0) {
        throw new Problem('bad-request', `${list} must not be empty`);
      }
      const { size, inputFor, answer } = prepare(body);
      return jsonReply(200, answer(await crews.withCrew(size, path, inputFor, call.signal())));
    }),
  );
}
