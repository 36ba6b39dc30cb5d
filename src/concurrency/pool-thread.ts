// The main thread's handle of one thread of the pool.
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { sharedCells } from './sync.ts';
import {
  CALLED,
  DISMISSED,
  type Job,
  POOL_THREAD,
  type Report,
  STATE,
  type ThreadData,
} from './thread.ts';

const THREAD = new URL('thread.js', import.meta.url);

/** The dependencies of a thread. */
export interface PoolThreadOptions {
  /** The URL of a TaskModule. */
  readonly tasks: URL;
  /** How long the thread may take to start. */
  readonly startMs: number;
  /** Called when the thread has started and is idle. */
  readonly onIdle: (thread: PoolThread) => void;
  /** Called with the reason when the thread has ended. */
  readonly onEnd: (thread: PoolThread, fault: unknown) => void;
}

/** A thread that does at most one job. The constructor throws if the system refuses a thread. */
export class PoolThread {
  readonly #worker: Worker;
  readonly #control = sharedCells(1);
  /** The reason to report if the thread ends now. */
  #fault: unknown = new Error('a thread ended before its job did');
  #settle: { resolve: (result: unknown) => void; reject: (fault: unknown) => void } | undefined;

  constructor({ tasks, startMs, onIdle, onEnd }: PoolThreadOptions) {
    const workerData: ThreadData = {
      kind: POOL_THREAD,
      control: this.#control,
      tasks: tasks.href,
    };
    this.#worker = new Worker(THREAD, { workerData });
    const late = () => this.terminate(new Error('a thread took too long to start'));
    const timer = setTimeout(late, startMs).unref();
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
    // The result cannot be deserialized; terminate the thread, which waits to be dismissed.
    this.#worker.on('messageerror', (error) => this.terminate(error));
    this.#worker.on('exit', () => {
      clearTimeout(timer);
      this.#settle?.reject(this.#fault);
      onEnd(this, this.#fault);
    });
  }

  /** Sends a job to the idle thread, for the next `call`. Throws if it cannot be cloned. */
  assign(job: Job): void {
    this.#worker.postMessage(job);
  }

  /** Wakes the idle thread to do its job; resolves with the result. */
  call(): Promise<unknown> {
    this.#send(CALLED);
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  /** Ends a thread that is idle or has done its job. */
  dismiss(): void {
    this.#send(DISMISSED);
  }

  /** Ends the thread at once and rejects its job with `fault`. Resolves when it has ended. */
  async terminate(fault = this.#fault): Promise<void> {
    this.#fault = fault;
    await this.#worker.terminate();
  }

  #send(state: typeof CALLED | typeof DISMISSED): void {
    Atomics.store(this.#control, STATE, state);
    Atomics.notify(this.#control, STATE);
  }
}
