// The routes of the six demonstrations. The pool and the demonstrations themselves are loaded at
// the first request, so that a service that only keeps notes does not pay for them.
import { endpoint } from '../contract/endpoint.ts';
import { Problem } from '../http/problem.ts';
import { jsonReply } from '../http/reply.ts';
import type { Route } from '../http/route.ts';
import type { DemonstrationPath } from './demonstration.ts';
import type { ThreadCounts, ThreadPool } from './thread-pool.ts';

/** The request member of each demonstration that must be a non-empty list, if it has one. */
const LISTS: Readonly<Record<DemonstrationPath, 'items' | 'task_ids' | undefined>> = {
  '/counter/increment': undefined,
  '/semaphore/run': 'task_ids',
  '/event/sync': undefined,
  '/pool/run': 'items',
  '/producer-consumer/run': 'items',
  '/thread-local/run': 'items',
};

const TASKS = new URL('tasks.js', import.meta.url);

/** The demonstrations and their threads. */
export class Demonstrations {
  readonly #maxThreads: number;
  #loaded: Promise<{ pool: ThreadPool; tasks: typeof import('./tasks.ts') }> | undefined;
  #isShutDown = false;

  /** Starts no thread yet. At most `maxThreads` will be alive at one time. */
  constructor(maxThreads: number) {
    this.#maxThreads = maxThreads;
  }

  /** Returns one route for each demonstration. */
  routes(): Route[] {
    return Object.keys(LISTS).map((path) => this.#route(path as DemonstrationPath));
  }

  /** Rejects waiting and new requests with NoThreads; running requests continue. */
  async shutDown(): Promise<void> {
    this.#isShutDown = true;
    (await this.#loaded)?.pool.shutDown();
  }

  /** Resolves with the current number of threads. */
  async threads(): Promise<ThreadCounts> {
    return (await this.#loaded)?.pool.counts() ?? { alive: 0, idle: 0, waiting: 0 };
  }

  /** Aborts running requests. Resolves when all threads have ended. */
  async close(): Promise<void> {
    await (await this.#loaded)?.pool.close();
  }

  #route(path: DemonstrationPath): Route {
    const list = LISTS[path];
    return endpoint<unknown, Readonly<Record<string, unknown>>>(
      'POST',
      path,
      async ({ body, call }) => {
        if (list && (body[list] as readonly unknown[]).length === 0) {
          throw new Problem('bad-request', `${list} must not be empty`);
        }
        this.#loaded ??= this.#load();
        const { pool, tasks } = await this.#loaded;
        const { size, inputFor, answer } = tasks.DEMONSTRATIONS[path].prepare(body);
        return jsonReply(200, answer(await pool.run(size, path, inputFor, call.signal())));
      },
    );
  }

  async #load() {
    const [{ ThreadPool }, tasks] = await Promise.all([
      import('./thread-pool.ts'),
      import('./tasks.ts'),
    ]);
    const pool = new ThreadPool({ tasks: TASKS, maxThreads: this.#maxThreads });
    if (this.#isShutDown) pool.shutDown();
    return { pool, tasks };
  }
}
