// The six demonstrations of specification section 4.6. Their input is checked; their threads are still to come.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';

const PATHS = [
  '/counter/increment',
  '/semaphore/run',
  '/event/sync',
  '/pool/run',
  '/producer-consumer/run',
  '/thread-local/run',
];

/** Returns the routes of the demonstrations; each answers a valid request with 501 until it exists. */
export function demonstrationRoutes(): Route[] {
  return PATHS.map((path) =>
    endpoint('POST', path, () => {
      throw new Problem('not-implemented', 'This demonstration does not exist yet.');
    }),
  );
}
