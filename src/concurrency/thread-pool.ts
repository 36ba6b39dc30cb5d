// The threads of the demonstrations. A request leases threads that nobody else uses until it has
// its answer. Starting a thread is slow, so idle ones stay until no request has come for a while.
//
//   start ──> starting ──> idle <──> leased
//                 │          │          │ its job has failed, or goes on when nobody waits for it
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
  /** How long a job may go on without its client: most end sooner than new threads would start. */
  abandonedMs: 1_000,
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
  /** Those whose clients may have gone. Threads are for them only while the queue is empty. */
  readonly #doubtful = new Set<Waiter>();
  #idleTimer: NodeJS.Timeout | undefined;
  #growTimer: NodeJS.Timeout | undefined;

  /** The threads load the module `tasks`, which calls `runThread`; at most `maxThreads` live. */
  constructor(tasks: URL, maxThreads: number) {
    this.#tasks = tasks;
    this.#maxThreads = maxThreads;
  }

  /**
   * Resolves with a result for each input, in order; rejects with NoThreads if none is in time. The
   * signals abort when the client has gone, and when it may have gone.
   */
  async run(
    task: string,
    inputs: readonly unknown[],
    gone?: AbortSignal,
    mayBeGone?: AbortSignal,
  ): Promise<readonly unknown[]> {
    const threads = await this.#lease(inputs.length, gone, mayBeGone);
    const jobs = Promise.all(
      threads.map((thread, index) => thread.perform({ task, index, input: inputs[index] })),
    );
    const late = () => new Error(`${task} took too long`);
    const doneWithin = (ms: number, signal?: AbortSignal) =>
      waitWithin<readonly unknown[]>({ ms, late, signal }, (resolve, reject) => {
        jobs.then(resolve, reject);
        return undefined;
      });
    const terminate = () => {
      for (const thread of threads) thread.terminate();
    };
    try {
      const results = await doneWithin(POOL_LIMITS.jobMs, gone);
      this.#takeBack(threads);
      return results;
    } catch (error) {
      // The remaining threads may wait for one that has failed, or still work.
      if (!gone?.aborted) terminate();
      else doneWithin(POOL_LIMITS.abandonedMs).then(() => this.#takeBack(threads), terminate);
      throw error;
    }
  }

  counts(): { readonly alive: number; readonly idle: number; readonly waiting: number } {
    return { alive: this.#alive.size, idle: this.#idle.size, waiting: this.#waiters().length };
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

  /** Resolves in the order of the calls, but last for clients that may have gone. */
  async #lease(size: number, signal?: AbortSignal, mayBeGone?: AbortSignal) {
    const full = () => new NoThreads('Too many demonstrations wait for threads.');
    if (this.#queue.size >= POOL_LIMITS.queue) throw full();
    const late = () => new NoThreads('No threads became free in time.');
    const bounds = { ms: POOL_LIMITS.queueMs, late, signal };
    return waitWithin<readonly PoolThread[]>(bounds, (grant, refuse) => {
      const waiter: Waiter = { size, grant, refuse };
      const doubt = () => {
        if (!this.#queue.delete(waiter)) return;
        if (this.#doubtful.size >= POOL_LIMITS.queue) refuse(full());
        else this.#doubtful.add(waiter);
        this.#distribute();
      };
      this.#queue.add(waiter);
      if (mayBeGone?.aborted) doubt();
      else this.#distribute();
      mayBeGone?.addEventListener('abort', doubt);
      // The next request may need fewer threads than this one.
      return () => {
        mayBeGone?.removeEventListener('abort', doubt);
        if (this.#remove(waiter)) this.#distribute();
      };
    });
  }

  #waiters(): readonly Waiter[] {
    return [...this.#queue, ...this.#doubtful];
  }

  #remove(waiter: Waiter): boolean {
    return this.#queue.delete(waiter) || this.#doubtful.delete(waiter);
  }

  #takeBack(threads: readonly PoolThread[]): void {
    this.#growTimer?.refresh();
    this.#addIdle(threads);
  }

  #distribute(): void {
    for (const waiter of this.#waiters()) {
      if (this.#idle.size < waiter.size) break;
      // Those that worked last have the warmest caches.
      const threads = [...this.#idle].slice(-waiter.size);
      for (const thread of threads) this.#idle.delete(thread);
      this.#remove(waiter);
      waiter.grant(threads);
    }
    if (this.#waiters().length === 0) return;
    const leased = this.#alive.size - this.#idle.size - this.#starting.size;
    if (leased === 0) this.#grow();
    else if (this.#queue.size > 0)
      this.#growTimer ??= setTimeout(() => this.#grow(), POOL_LIMITS.growMs).unref();
  }

  /** Starts threads that the next waiting request lacks. */
  #grow(): void {
    this.#growTimer = undefined;
    const [{ size } = { size: 0 }] = this.#waiters();
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
    const [oldest] = this.#waiters();
    oldest?.refuse(error);
  }
}
