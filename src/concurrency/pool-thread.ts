// One thread of the pool, as the main thread sees it.
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { sharedCells } from './sync.ts';
import { CALLED, DISMISSED, type Job, type Report, STATE, type ThreadData } from './thread.ts';

const THREAD = new URL('thread.js', import.meta.url);

/** What a thread depends on. */
export interface PoolThreadOptions {
  /** The module of the tasks, a TaskModule. */
  readonly tasks: URL;
  /** How long the thread may take to start. */
  readonly startMs: number;
  /** Called when the thread has started and is idle. */
  readonly onIdle: (thread: PoolThread) => void;
  /** Called when the thread has ended, with the reason. */
  readonly onEnd: (thread: PoolThread, fault: unknown) => void;
}

/**
 * A thread that starts, does at most one job, and ends. The constructor throws if the system
 * refuses a thread.
 */
export class PoolThread {
  readonly #worker: Worker;
  readonly #control = sharedCells(1);
  /** Why the thread has ended, or is about to. */
  #fault: unknown = new Error('a thread ended before its job did');
  #settle: { resolve: (result: unknown) => void; reject: (fault: unknown) => void } | undefined;

  constructor({ tasks, startMs, onIdle, onEnd }: PoolThreadOptions) {
    const workerData: ThreadData = { control: this.#control, tasks: tasks.href };
    this.#worker = new Worker(THREAD, { workerData });
    const timer = setTimeout(
      () => this.terminate(new Error('a thread took too long to start')),
      startMs,
    );
    timer.unref();
    this.#worker.on('message', (report: Report) => {
      if (report.kind === 'done') {
        this.#settle?.resolve(report.result);
        return;
      }
      clearTimeout(timer);
      onIdle(this);
    });
    this.#worker.on('error', (error) => {
      this.#fault = error instanceof Error ? error : new Error(`a thread threw ${inspect(error)}`);
    });
    // The result cannot be read here, and the thread would wait to be dismissed.
    this.#worker.on('messageerror', (error) => this.terminate(error));
    this.#worker.on('exit', () => {
      clearTimeout(timer);
      this.#settle?.reject(this.#fault);
      onEnd(this, this.#fault);
    });
  }

  /**
   * Hands over the job of an idle thread. Throws if the job cannot be cloned. The thread begins
   * when it is called.
   */
  assign(job: Job): void {
    this.#worker.postMessage(job);
  }

  /** Wakes the idle thread to do its job; resolves with its result. */
  call(): Promise<unknown> {
    this.#send(CALLED);
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  /** Tells a thread to end that is idle or has done its job. */
  dismiss(): void {
    this.#send(DISMISSED);
  }

  /** Ends the thread at once; its job rejects with `fault`. Resolves when it has ended. */
  async terminate(fault = this.#fault): Promise<void> {
    this.#fault = fault;
    await this.#worker.terminate();
  }

  #send(state: typeof CALLED | typeof DISMISSED): void {
    Atomics.store(this.#control, STATE, state);
    Atomics.notify(this.#control, STATE);
  }
}
