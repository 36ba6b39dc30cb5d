// The threads of the demonstrations. A request leases threads that nobody else uses until it has
// its answer. Starting a thread is slow, so idle ones stay until no request has come for a while.
//
//   start ──> starting ──> idle <──> leased
//                 │          │          │ its request has failed or been abandoned
//                 └──────────┴──────────┴──> ended
import { availableParallelism } from 'node:os';
import { waitWithin } from '../bounded-wait.ts';
import { PoolThread } from './pool-thread.ts';

/** No threads are available for a request. The message may be shown to clients. */
export class NoThreads extends Error {
  override readonly name = 'NoThreads';
}

/** The limits of all pools; tests change them. */
export const POOL_LIMITS = {
  /** How long idle threads stay after the last lease. */
  idleMs: 30_000,
  /** How many requests may wait for threads, and how long. */
  queue: 256,
  queueMs: 10_000,
  jobMs: 30_000,
  /** Threads that may be starting at one time: more would only compete for the cores. */
  starting: availableParallelism(),
  /**
   * More threads are started only if no lease has ended for so long: usually one ends sooner than a
   * thread starts, and more threads than cores do not make the work faster.
   */
  growMs: 50,
};

interface Waiter {
  readonly size: number;
  readonly grant: (threads: readonly PoolThread[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** A pool of threads; it is empty at first. */
export class ThreadPool {
  readonly #tasks: URL;
  #maxThreads: number;
  readonly #alive = new Set<PoolThread>();
  readonly #starting = new Set<PoolThread>();
  readonly #idle = new Set<PoolThread>();
  readonly #queue = new Set<Waiter>();
  #idleTimer: NodeJS.Timeout | undefined;
  #growTimer: NodeJS.Timeout | undefined;

  /** The threads load the module `tasks`, which calls `runThread`; at most `maxThreads` live. */
  constructor(tasks: URL, maxThreads: number) {
    this.#tasks = tasks;
    this.#maxThreads = maxThreads;
  }

  /** Resolves with a result for each input, in order; rejects with NoThreads if none is in time. */
  async run(
    task: string,
    inputs: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<readonly unknown[]> {
    const threads = await this.#lease(inputs.length, signal);
    try {
      const late = () => new Error(`${task} took too long`);
      const bounds = { ms: POOL_LIMITS.jobMs, late, signal };
      const results = await waitWithin<readonly unknown[]>(bounds, (resolve, reject) => {
        const jobs = threads.map((thread, index) =>
          thread.perform({ task, index, input: inputs[index] }),
        );
        Promise.all(jobs).then(resolve, reject);
      });
      this.#growTimer?.refresh();
      this.#addIdle(threads);
      return results;
    } catch (error) {
      // The remaining threads may wait for one that has failed, or still work.
      for (const thread of threads) thread.terminate();
      throw error;
    }
  }

  counts(): { readonly alive: number; readonly idle: number; readonly waiting: number } {
    return { alive: this.#alive.size, idle: this.#idle.size, waiting: this.#queue.size };
  }

  /** Ends all threads, and starts no others. Resolves when they have ended. */
  async close(): Promise<void> {
    this.#maxThreads = 0;
    clearTimeout(this.#idleTimer);
    const ends = [...this.#alive].map((thread) =>
      this.#idle.has(thread) ? thread.dismiss() : thread.terminate(),
    );
    await Promise.all(ends);
  }

  /** Resolves in the order of the calls. */
  async #lease(size: number, signal: AbortSignal | undefined): Promise<readonly PoolThread[]> {
    if (this.#queue.size >= POOL_LIMITS.queue)
      throw new NoThreads('Too many demonstrations wait for threads.');
    const late = () => new NoThreads('No threads became free in time.');
    return waitWithin({ ms: POOL_LIMITS.queueMs, late, signal }, (grant, refuse) => {
      const waiter: Waiter = { size, grant, refuse };
      this.#queue.add(waiter);
      this.#distribute();
      // The next request may need fewer threads than this one.
      return () => this.#queue.delete(waiter) && this.#distribute();
    });
  }

  /** Gives idle threads to the waiting requests in order. */
  #distribute(): void {
    for (const waiter of this.#queue) {
      if (this.#idle.size < waiter.size) break;
      // Those that worked last have the warmest caches.
      const threads = [...this.#idle].slice(-waiter.size);
      for (const thread of threads) this.#idle.delete(thread);
      this.#queue.delete(waiter);
      waiter.grant(threads);
    }
    if (this.#queue.size === 0) return;
    const leased = this.#alive.size - this.#idle.size - this.#starting.size;
    if (leased === 0) this.#grow();
    else this.#growTimer ??= setTimeout(() => this.#grow(), POOL_LIMITS.growMs).unref();
  }

  /** Starts threads that the next waiting request lacks. */
  #grow(): void {
    this.#growTimer = undefined;
    const [{ size } = { size: 0 }] = this.#queue;
    try {
      while (this.#idle.size + this.#starting.size < size && this.#hasRoom()) this.#start();
    } catch (error) {
      // The system refuses a thread.
      this.#onFailedStart(error);
    }
  }

  #hasRoom(): boolean {
    return this.#starting.size < POOL_LIMITS.starting && this.#alive.size < this.#maxThreads;
  }

  #start(): void {
    const onIdle = () => {
      this.#starting.delete(thread);
      this.#addIdle([thread]);
    };
    const onEnd = (fault: Error) => this.#onEnd(thread, fault);
    const thread = new PoolThread(this.#tasks, onIdle, onEnd);
    this.#alive.add(thread);
    this.#starting.add(thread);
  }

  #addIdle(threads: readonly PoolThread[]): void {
    for (const thread of threads) this.#idle.add(thread);
    this.#distribute();
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#endIdle(), POOL_LIMITS.idleMs).unref();
  }

  #endIdle(): void {
    for (const thread of this.#idle) thread.dismiss();
    this.#idle.clear();
  }

  #onEnd(thread: PoolThread, fault: Error): void {
    this.#alive.delete(thread);
    this.#idle.delete(thread);
    if (this.#starting.delete(thread)) this.#onFailedStart(fault);
    this.#distribute();
  }

  /** Rejects the oldest waiter: the next start would probably fail, too. */
  #onFailedStart(error: unknown): void {
    const [oldest] = this.#queue;
    oldest?.refuse(error);
  }
}
