// The threads of the demonstrations. A thread serves one request and ends. Starting one is slow, so
// the pool keeps idle threads ready until no request has arrived for a while.
import { availableParallelism } from 'node:os';
import { waitWithin } from '../bounded-wait.ts';
import { PoolThread } from './pool-thread.ts';

/** No threads are available for a request. The message may be shown to clients. */
export class NoThreads extends Error {
  override readonly name = 'NoThreads';
}

/** The limits of all pools; tests change them. */
export const POOL_LIMITS = {
  /** Enough idle threads for the largest demonstration. */
  idle: 16,
  idleMs: 30_000,
  /** How many requests may wait for threads, and how long. */
  queue: 256,
  queueMs: 10_000,
  jobMs: 30_000,
  /** Threads that may be starting at one time: more would only compete for the cores. */
  starting: availableParallelism(),
  /** The pause before each start of an idle thread. */
  refillMs: 20,
  /** The event loop utilization from which idle threads are not started. */
  refillUtilization: 0.5,
};

const SHUT_DOWN = 'The service is shutting down.';

interface Waiter {
  readonly size: number;
  readonly grant: (threads: readonly PoolThread[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** A pool of threads; it is empty at first. */
export class ThreadPool {
  readonly #tasks: URL;
  readonly #maxThreads: number;
  readonly #alive = new Set<PoolThread>();
  readonly #starting = new Set<PoolThread>();
  readonly #idle = new Set<PoolThread>();
  readonly #queue = new Set<Waiter>();
  #wantedIdle = 0;
  #refillTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isShutDown = false;

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
    const threads = await this.#acquire(inputs.length, signal);
    try {
      const late = () => new Error(`${task} took too long`);
      const bounds = { ms: POOL_LIMITS.jobMs, late, signal };
      const results = await waitWithin<readonly unknown[]>(bounds, (resolve, reject) => {
        const jobs = threads.map((thread, index) =>
          thread.perform({ task, index, input: inputs[index] }),
        );
        Promise.all(jobs).then(resolve, reject);
      });
      // Ending a thread takes time, so let the answer be sent first.
      setImmediate(() => threads.forEach((thread) => void thread.dismiss()));
      return results;
    } catch (error) {
      // The remaining threads may wait for one that has failed.
      for (const thread of threads) thread.terminate();
      throw error;
    }
  }

  counts(): { readonly alive: number; readonly idle: number; readonly waiting: number } {
    return { alive: this.#alive.size, idle: this.#idle.size, waiting: this.#queue.size };
  }

  /** Rejects waiting and new requests, and ends the idle threads. Running requests continue. */
  shutDown(): void {
    this.#isShutDown = true;
    clearTimeout(this.#refillTimer);
    clearTimeout(this.#idleTimer);
    this.#wantedIdle = 0;
    const refused = [...this.#queue];
    this.#queue.clear();
    for (const { refuse } of refused) refuse(new NoThreads(SHUT_DOWN));
    this.#endSurplus();
  }

  /** Shuts down and aborts running requests. Resolves when all threads have ended. */
  async close(): Promise<void> {
    this.shutDown();
    await Promise.all([...this.#alive].map((thread) => thread.terminate()));
  }

  /** Resolves in the order of the calls. */
  async #acquire(size: number, signal: AbortSignal | undefined): Promise<readonly PoolThread[]> {
    signal?.throwIfAborted();
    if (this.#isShutDown) throw new NoThreads(SHUT_DOWN);
    this.#keepIdle();
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

  /** Gives idle threads to the waiting requests in order, and starts missing threads. */
  #distribute(): void {
    for (const waiter of this.#queue) {
      if (this.#idle.size < waiter.size) break;
      const threads = [...this.#idle].slice(0, waiter.size);
      for (const thread of threads) this.#idle.delete(thread);
      this.#queue.delete(waiter);
      waiter.grant(threads);
    }
    if (this.#queue.size === 0) {
      this.#endSurplus();
      this.#refillLater();
      return;
    }
    const wanted = [...this.#queue].reduce((sum, { size }) => sum + size, 0);
    while (this.#idle.size + this.#starting.size < wanted && this.#hasRoom() && this.#start());
  }

  #hasRoom(): boolean {
    return this.#starting.size < POOL_LIMITS.starting && this.#alive.size < this.#maxThreads;
  }

  /** Returns false if the system refuses a thread. */
  #start(): boolean {
    try {
      const thread: PoolThread = new PoolThread(
        this.#tasks,
        () => this.#onIdle(thread),
        (fault) => this.#onEnd(thread, fault),
      );
      this.#alive.add(thread);
      this.#starting.add(thread);
      return true;
    } catch (error) {
      this.#onFailedStart(error);
      return false;
    }
  }

  #onIdle(thread: PoolThread): void {
    this.#starting.delete(thread);
    this.#idle.add(thread);
    this.#distribute();
  }

  #onEnd(thread: PoolThread, fault: Error): void {
    this.#alive.delete(thread);
    this.#idle.delete(thread);
    if (this.#starting.delete(thread)) this.#onFailedStart(fault);
    this.#distribute();
  }

  /** Stops refilling and rejects the oldest waiter: the next start would probably fail too. */
  #onFailedStart(error: unknown): void {
    this.#wantedIdle = 0;
    const [oldest] = this.#queue;
    oldest?.refuse(error);
  }

  #keepIdle(): void {
    this.#wantedIdle = POOL_LIMITS.idle;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      this.#wantedIdle = 0;
      this.#endSurplus();
    }, POOL_LIMITS.idleMs).unref();
  }

  /** Starts missing idle threads one at a time, and only while the event loop is not busy. */
  #refillLater(): void {
    if (this.#refillTimer || !this.#canRefill()) return;
    const before = performance.eventLoopUtilization();
    this.#refillTimer = setTimeout(() => {
      this.#refillTimer = undefined;
      const { utilization } = performance.eventLoopUtilization(before);
      const isQuiet = this.#queue.size === 0 && utilization < POOL_LIMITS.refillUtilization;
      if (isQuiet && this.#canRefill()) this.#start();
      this.#refillLater();
    }, POOL_LIMITS.refillMs).unref();
  }

  #canRefill(): boolean {
    return this.#starting.size === 0 && this.#idle.size < this.#wantedIdle && this.#hasRoom();
  }

  #endSurplus(): void {
    for (const thread of [...this.#idle].slice(this.#wantedIdle)) {
      this.#idle.delete(thread);
      thread.dismiss();
    }
  }
}
