// The threads of the demonstrations. A thread serves one request and ends. Starting one is slow, so
// after the first demonstration idle threads are kept ready, until none has been needed for a
// while.
import { availableParallelism } from 'node:os';
import { NoThreads } from './no-threads.ts';
import { PoolThread } from './pool-thread.ts';

/** Bounds and times of a pool. */
export const POOL_LIMITS = {
  /** Idle threads that are kept ready: as many as the largest demonstration needs. */
  idle: 16,
  /** How long idle threads are kept after the last request. */
  idleMs: 30_000,
  /** How many requests may wait for threads, and how long. */
  queue: 256,
  queueMs: 10_000,
  /** How long a thread may take to start, and a job to be done. */
  startMs: 10_000,
  jobMs: 30_000,
  /** Threads that may be starting at one time: more would only compete for the cores. */
  starting: availableParallelism(),
  /**
   * The pause between the starts of two idle threads, and how busy the event loop may be then (0 to
   * 1).
   */
  refillMs: 20,
  refillUtilization: 0.5,
};

/** What a pool depends on. */
export interface ThreadPoolOptions {
  /** The module of the tasks, a TaskModule. */
  readonly tasks: URL;
  /** How many threads may be alive, idle and ending ones included. */
  readonly maxThreads: number;
  readonly limits?: typeof POOL_LIMITS;
}

/**
 * How many threads are alive, how many of them are idle, and how many requests wait for threads.
 */
export interface ThreadCounts {
  readonly alive: number;
  readonly idle: number;
  readonly waiting: number;
}

interface Waiting {
  readonly size: number;
  readonly grant: (threads: PoolThread[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** A pool of threads; it is empty at first. */
export class ThreadPool {
  readonly #tasks: URL;
  readonly #maxThreads: number;
  readonly #limits: typeof POOL_LIMITS;
  readonly #alive = new Set<PoolThread>();
  readonly #starting = new Set<PoolThread>();
  readonly #idle = new Set<PoolThread>();
  readonly #queue = new Set<Waiting>();
  /** How many idle threads are wanted now. */
  #wantedIdle = 0;
  #refillTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #isShutDown = false;

  constructor({ tasks, maxThreads, limits = POOL_LIMITS }: ThreadPoolOptions) {
    this.#tasks = tasks;
    this.#maxThreads = maxThreads;
    this.#limits = limits;
  }

  /**
   * Runs `task` on `size` fresh threads, thread `index` with `inputFor(index)`, and resolves with
   * their results in that order. Requests are served in their order. Rejects with {@link NoThreads}
   * if too many wait or this one waits too long, with the reason of `signal` if that aborts, and
   * with an Error if a thread throws, ends or hangs; then the threads of this request end, and no
   * others.
   */
  async run(
    size: number,
    task: string,
    inputFor: (index: number) => unknown,
    signal?: AbortSignal,
  ): Promise<readonly unknown[]> {
    const threads = await this.#acquire(size, signal);
    try {
      signal?.throwIfAborted();
      for (const [index, thread] of threads.entries())
        thread.assign({ task, index, input: inputFor(index) });
      const jobs = threads.map((thread) => thread.call());
      const results = await this.#resultsOf(jobs, task, signal);
      // After the answer has been sent, which happens in this turn of the event loop: ending a
      // thread takes time.
      setImmediate(() => threads.forEach((thread) => void thread.dismiss()));
      return results;
    } catch (error) {
      // The others may wait for each other for ever.
      for (const thread of threads) thread.terminate();
      throw error;
    }
  }

  /** Returns how many threads there are. */
  counts(): ThreadCounts {
    return { alive: this.#alive.size, idle: this.#idle.size, waiting: this.#queue.size };
  }

  /** Rejects waiting and new requests and ends the idle threads. Running requests continue. */
  shutDown(): void {
    this.#isShutDown = true;
    clearTimeout(this.#refillTimer);
    clearTimeout(this.#idleTimer);
    this.#wantedIdle = 0;
    const refused = [...this.#queue];
    this.#queue.clear();
    for (const { refuse } of refused) refuse(shuttingDown());
    this.#endSurplus();
  }

  /** Shuts down and ends the running threads too. Resolves when all have ended. */
  async close(): Promise<void> {
    this.shutDown();
    await Promise.all([...this.#alive].map((thread) => thread.terminate()));
  }

  /** Resolves with idle threads, in the order of the calls. */
  #acquire(size: number, signal: AbortSignal | undefined): Promise<PoolThread[]> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#isShutDown) throw shuttingDown();
      this.#keepIdle();
      if (this.#queue.size >= this.#limits.queue)
        throw new NoThreads('Too many demonstrations wait for threads.');
      const settle = (outcome: () => void) => {
        this.#queue.delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        outcome();
      };
      const waiting: Waiting = {
        size,
        grant: (threads) => settle(() => resolve(threads)),
        refuse: (error) => {
          settle(() => reject(error));
          // The next in line may need fewer threads than this one did.
          this.#distribute();
        },
      };
      const timeout = () => waiting.refuse(new NoThreads('There were no threads in time.'));
      const timer = setTimeout(timeout, this.#limits.queueMs);
      const onAbort = () => waiting.refuse(signal?.reason);
      signal?.addEventListener('abort', onAbort);
      this.#queue.add(waiting);
      this.#distribute();
    });
  }

  /** Resolves with the results of all jobs, within `jobMs`. */
  #resultsOf(
    jobs: readonly Promise<unknown>[],
    task: string,
    signal: AbortSignal | undefined,
  ): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        outcome();
      };
      const fail = (error: unknown) => settle(() => reject(error));
      const timer = setTimeout(() => fail(new Error(`${task} took too long`)), this.#limits.jobMs);
      const onAbort = () => fail(signal?.reason);
      signal?.addEventListener('abort', onAbort);
      Promise.all(jobs).then((results) => settle(() => resolve(results)), fail);
    });
  }

  /** Grants idle threads to those that wait, in order, and starts what is missing. */
  #distribute(): void {
    for (const waiting of this.#queue) {
      if (this.#idle.size < waiting.size) break;
      const threads = [...this.#idle].slice(0, waiting.size);
      for (const thread of threads) this.#idle.delete(thread);
      waiting.grant(threads);
    }
    if (this.#queue.size === 0) {
      this.#endSurplus();
      this.#refillLater();
      return;
    }
    let wanted = 0;
    for (const { size } of this.#queue) wanted += size;
    while (this.#idle.size + this.#starting.size < wanted && this.#hasRoom() && this.#start());
  }

  #hasRoom(): boolean {
    return this.#starting.size < this.#limits.starting && this.#alive.size < this.#maxThreads;
  }

  /** Starts a thread; returns false if the system refuses. */
  #start(): boolean {
    try {
      const thread = new PoolThread({
        tasks: this.#tasks,
        startMs: this.#limits.startMs,
        onIdle: (started) => this.#onIdle(started),
        onEnd: (ended, fault) => this.#onEnd(ended, fault),
      });
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

  #onEnd(thread: PoolThread, fault: unknown): void {
    this.#alive.delete(thread);
    this.#idle.delete(thread);
    if (this.#starting.delete(thread)) this.#onFailedStart(fault);
    this.#distribute();
  }

  /** Fails the oldest waiter; the next start would probably fail too. */
  #onFailedStart(error: unknown): void {
    this.#wantedIdle = 0;
    const [oldest] = this.#queue;
    oldest?.refuse(error);
  }

  /** Keeps idle threads ready for the next `idleMs`. */
  #keepIdle(): void {
    this.#wantedIdle = this.#limits.idle;
    this.#idleTimer ??= setTimeout(() => {
      this.#idleTimer = undefined;
      this.#wantedIdle = 0;
      this.#endSurplus();
    }, this.#limits.idleMs).unref();
    this.#idleTimer.refresh();
  }

  /** Starts the missing idle threads one by one, and only while the event loop is not busy. */
  #refillLater(): void {
    if (this.#refillTimer || !this.#needsIdle()) return;
    const before = performance.eventLoopUtilization();
    this.#refillTimer = setTimeout(() => {
      this.#refillTimer = undefined;
      const { utilization } = performance.eventLoopUtilization(before);
      const isQuiet = this.#queue.size === 0 && utilization < this.#limits.refillUtilization;
      if (isQuiet && this.#needsIdle()) this.#start();
      this.#refillLater();
    }, this.#limits.refillMs).unref();
  }

  #needsIdle(): boolean {
    const { size } = this.#idle;
    return (
      this.#starting.size === 0 && size < this.#wantedIdle && this.#alive.size < this.#maxThreads
    );
  }

  #endSurplus(): void {
    for (const thread of [...this.#idle].slice(this.#wantedIdle)) {
      this.#idle.delete(thread);
      thread.dismiss();
    }
  }
}

function shuttingDown(): NoThreads {
  return new NoThreads('The service is shutting down.');
}
