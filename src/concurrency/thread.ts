// The program of a thread of the pool: it does one job after another, each for another lease.
import { constants, setPriority } from 'node:os';
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

/** Returns the demonstration, and so infers the types of inputs and results from its functions. */
export function demonstration<Request, Input, Result>(
  parts: Demonstration<Request, Input, Result>,
): Demonstration<Request, Input, Result> {
  return parts;
}

type Tasks = Readonly<Record<string, Pick<Demonstration<never, never, unknown>, 'work'>>>;

/** The task of one thread with its input. Input and result must be structured-cloneable. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/** The member of a thread's data with the semaphore that counts its calls. */
export const CALLS = 'calls of notes-server';

/**
 * Does one job for each call, if this is a thread of a pool, and ends when it is called without a
 * job. A job that throws ends the thread.
 */
export function runThread(tasks: Tasks): void {
  const cells: Int32Array | undefined = workerData?.[CALLS];
  if (!parentPort || !cells) return;
  // Elsewhere, this is the priority of the whole process.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
  const calls = new Semaphore(cells);
  parentPort.postMessage('idle');
  for (;;) {
    calls.acquire();
    const sent = receiveMessageOnPort(parentPort);
    if (!sent) return;
    const { task, index, input }: Job = sent.message;
    parentPort.postMessage(tasks[task]?.work(input as never, index));
  }
}
