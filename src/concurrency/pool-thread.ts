// A thread of the pool, as the main thread sees it.
import { Worker } from 'node:worker_threads';
import { type Job, POOL_THREAD } from './thread.ts';

/** A thread that does one job at a time. The constructor throws if the system refuses a thread. */
export class PoolThread extends Worker {
  #reject: (fault: Error) => void = () => {};

  /** Starts the module `tasks`, which calls `runThread`. */
  constructor(tasks: URL, onIdle: () => void, onEnd: (fault: Error) => void) {
    super(tasks, { workerData: POOL_THREAD });
    let fault = new Error('a thread ended before its job did');
    this.once('message', onIdle);
    this.on('error', (error) => {
      fault = error;
    });
    this.on('exit', () => {
      this.#reject(fault);
      onEnd(fault);
    });
  }

  /** Rejects if the thread ends before. */
  perform(job: Job): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.once('message', resolve);
      this.postMessage(job);
    });
  }
}
