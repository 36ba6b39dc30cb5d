// The main thread's handle of one thread of the pool.
import { Worker } from 'node:worker_threads';
import { Semaphore } from './sync.ts';
import { CALLS, type Job } from './thread.ts';

/** A thread that does at most one job. The constructor throws if the system refuses a thread. */
export class PoolThread {
  readonly #worker: Worker;
  readonly #calls = new Semaphore(Semaphore.cells(0));
  #fault = new Error('a thread ended before its job did');
  #reject: (fault: Error) => void = () => {};

  constructor(
    tasks: URL,
    onIdle: (thread: PoolThread) => void,
    onEnd: (thread: PoolThread, fault: Error) => void,
  ) {
    this.#worker = new Worker(tasks, { workerData: { [CALLS]: this.#calls.cells } });
    this.#worker.once('message', () => onIdle(this));
    this.#worker.on('error', (error) => {
      this.#fault = error;
    });
    this.#worker.on('exit', () => {
      this.#reject(this.#fault);
      onEnd(this, this.#fault);
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

  dismiss(): void {
    this.#calls.release();
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
