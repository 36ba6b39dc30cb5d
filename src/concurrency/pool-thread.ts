// The main thread's handle of one thread of the pool.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Semaphore } from './sync.ts';
import { CALLS, type Job } from './thread.ts';

/** A thread that does one job at a time. The constructor throws if the system refuses a thread. */
export class PoolThread {
  readonly #worker: Worker;
  readonly #calls = new Semaphore(Semaphore.cells(0));
  #fault = new Error('a thread ended before its job did');
  #reject: (fault: Error) => void = () => {};

  /** Starts the module `tasks`, which calls `runThread`. */
  constructor(tasks: URL, onIdle: () => void, onEnd: (fault: Error) => void) {
    this.#worker = new Worker(tasks, { workerData: { [CALLS]: this.#calls.cells } });
    this.#worker.once('message', onIdle);
    this.#worker.on('error', (error) => {
      this.#fault = error;
    });
    this.#worker.on('exit', () => {
      this.#reject(this.#fault);
      onEnd(this.#fault);
    });
  }

  perform(job: Job): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#worker.once('message', resolve);
      this.#worker.postMessage(job);
      this.#calls.release();
    });
  }

  /** Ends a thread that is idle. */
  async dismiss(): Promise<void> {
    this.#calls.release();
    await once(this.#worker, 'exit');
  }

  /** Rejects the job. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
