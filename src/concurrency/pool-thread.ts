// The main thread's handle of one thread of the pool.
import { Worker } from 'node:worker_threads';
import { type Job, POOL_THREAD } from './thread.ts';

/** A thread that does one job at a time. The constructor throws if the system refuses a thread. */
export class PoolThread {
  readonly #worker: Worker;
  #fault = new Error('a thread ended before its job did');
  #reject: (fault: Error) => void = () => {};

  /** Starts the module `tasks`, which calls `runThread`. */
  constructor(tasks: URL, onIdle: () => void, onEnd: (fault: Error) => void) {
    this.#worker = new Worker(tasks, { workerData: POOL_THREAD });
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
    });
  }

  /** Rejects the job, if it has one. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
