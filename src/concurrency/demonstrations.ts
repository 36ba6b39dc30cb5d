// Runs the demonstrations. They and their pool of threads are loaded at the first request, so that
// a service that only keeps notes does not pay for them.
import type { DemonstrationPath } from './demonstration.ts';
import type { ThreadCounts, ThreadPool } from './thread-pool.ts';

const TASKS = new URL('tasks.js', import.meta.url);

/** The demonstrations and their threads. */
export class Demonstrations {
  readonly #maxThreads: number;
  #loaded: Promise<{ pool: ThreadPool; tasks: typeof import('./tasks.ts') }> | undefined;

  constructor(maxThreads: number) {
    this.#maxThreads = maxThreads;
  }

  /** Runs a demonstration; resolves with its answer as JSON text, rejects as a pool does. */
  async run(path: DemonstrationPath, request: unknown, signal: AbortSignal): Promise<string> {
    this.#loaded ??= this.#load();
    const { pool, tasks } = await this.#loaded;
    const { inputs, answer } = tasks.DEMONSTRATIONS[path].prepare(request);
    return answer(await pool.run(path, inputs, signal));
  }

  /** Rejects waiting and new requests with NoThreads, if there is a pool; others continue. */
  async shutDown(): Promise<void> {
    (await this.#loaded)?.pool.shutDown();
  }

  async threads(): Promise<ThreadCounts> {
    return (await this.#loaded)?.pool.counts() ?? { alive: 0, idle: 0, waiting: 0 };
  }

  /** Aborts running requests. Resolves when all threads have ended. */
  async close(): Promise<void> {
    await (await this.#loaded)?.pool.close();
  }

  async #load() {
    const [{ ThreadPool }, tasks] = await Promise.all([
      import('./thread-pool.ts'),
      import('./tasks.ts'),
    ]);
    return { pool: new ThreadPool(TASKS, this.#maxThreads), tasks };
  }
}
