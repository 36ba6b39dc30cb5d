// The six demonstrations of specification section 4.6: real threads that work together on shared memory. All of it but
// these routes is loaded with the first demonstration that is asked for: a service that only keeps notes pays nothing.
import { endpoint } from '../contract/endpoint.ts';
import type { Route } from '../http/dispatch.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Crews } from './crew.ts';
import type { DemonstrationPath } from './demonstration.ts';

/** The demonstrations. */
export interface Demonstrations {
  readonly routes: readonly Route[];
  /** Refuses with service-unavailable who waits for threads and whoever comes; what is at work goes on. */
  shutDown(): Promise<void>;
  /** How many threads there are. */
  threads(): Promise<ReturnType<Crews['threads']>>;
  /** Ends what is at work as well; resolves when all threads are gone. */
  close(): Promise<void>;
}

/** The paths, and the member of the request that lists what is to be done, where there is one: it must not be empty. */
const LISTS: Readonly<Record<DemonstrationPath, 'items' | 'task_ids' | undefined>> = {
  '/counter/increment': undefined,
  '/semaphore/run': 'task_ids',
  '/event/sync': undefined,
  '/pool/run': 'items',
  '/producer-consumer/run': 'items',
  '/thread-local/run': 'items',
};

const TASKS = new URL('tasks.js', import.meta.url);

/** Returns the demonstrations, with at most `maxThreads` threads at one time and none before the first is needed. */
export function createDemonstrations(maxThreads: number): Demonstrations {
  let loaded: ReturnType<typeof load> | undefined;
  let closing = false;

  async function load() {
    const [{ createCrews }, { DEMONSTRATIONS }] = await Promise.all([import('./crew.ts'), import('./tasks.ts')]);
    const crews = createCrews({ tasks: TASKS, maxThreads });
    if (closing) crews.shutDown();
    return { crews, demonstrations: DEMONSTRATIONS };
  }

  function routeOf(path: DemonstrationPath): Route {
    const list = LISTS[path];
    return endpoint<unknown, Readonly<Record<string, unknown>>>('POST', path, async ({ body, call }) => {
      if (list && (body[list] as readonly unknown[]).length === 0) {
        throw new Problem('bad-request', `${list} must not be empty`);
      }
      loaded ??= load();
      const { crews, demonstrations } = await loaded;
      const { size, inputFor, answer } = demonstrations[path].prepare(body);
      return jsonReply(200, answer(await crews.withCrew(size, path, inputFor, call.signal())));
    });
  }

  return {
    routes: Object.keys(LISTS).map((path) => routeOf(path as DemonstrationPath)),

    async shutDown() {
      closing = true;
      (await loaded)?.crews.shutDown();
    },

    threads: async () => (await loaded)?.crews.threads() ?? { alive: 0, parked: 0, waiting: 0 },

    close: async () => (await loaded)?.crews.close(),
  };
}
