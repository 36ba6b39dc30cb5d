// The program of a thread of the pool: it warms up, does one job, and waits to be dismissed.
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Semaphore } from './sync.ts';

/** A demonstration: work for several threads, with its preparation and its answer. */
export interface Demonstration<Request, Input, Result> {
  /** Prepares a run, and allocates the memory that its threads share, for a valid request. */
  prepare(request: Request): {
    /** The input of each thread. It is cloned, but shared memory stays shared. */
    readonly inputs: readonly Input[];
    /** Returns the answer as JSON text. `results` has the result of each thread, by index. */
    answer(results: readonly Result[]): string;
  };
  /** Does the work of thread `index`, counted from 0, synchronously. */
  work(input: Input, index: number): Result;
}

type Tasks = Readonly<Record<string, Pick<Demonstration<never, never, unknown>, 'work'>>>;

/** The task of one thread with its input. Input and result must be structured-cloneable. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/** Often enough for V8 to optimize the code. */
const WARM_UP_ROUNDS = 12;

/** The member of a thread's data with the semaphore by which it is called, then dismissed. */
export const CALLS = 'calls of notes-server';

/** Serves one job if this is a thread of a pool. One thread alone can repeat the job `warmUp`. */
export function runThread(tasks: Tasks, warmUp: () => Job): void {
  const cells: Int32Array | undefined = workerData?.[CALLS];
  if (!parentPort || !cells) return;
  const perform = ({ task, index, input }: Job) => tasks[task]?.work(input as never, index);
  const job = warmUp();
  // Cloned each time, like the real job.
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) perform(structuredClone(job));
  parentPort.postMessage('idle');
  const calls = new Semaphore(cells);
  calls.acquire();
  const sent = receiveMessageOnPort(parentPort);
  // Without a job, the thread is dismissed.
  if (!sent) return;
  parentPort.postMessage(perform(sent.message));
  // A thread that ends slows down the others, so it waits until it is dismissed.
  calls.acquire();
}
