// The program of a thread of the pool. It loads the tasks, warms up, waits for its one job, does
// it, and waits to be dismissed. Both waits block on shared memory instead of the event loop.
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';

/** A module with the tasks of the threads. */
export interface TaskModule {
  /** The tasks by name. They are synchronous: each blocks its own thread only. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** Returns a job that one thread can repeat alone, so that V8 compiles its hot code. */
  readonly warmUp: () => Job;
}

/** Does the work of thread `index` (from 0). Input and result must be structured-cloneable. */
export type Task = (input: never, index: number) => unknown;

/** Marks the data of a thread of the pool. */
export const POOL_THREAD = 'thread of notes-server';

/** The data that a thread gets when it starts. */
export interface ThreadData {
  readonly kind: typeof POOL_THREAD;
  /** Has one cell, at index {@link STATE}. */
  readonly control: Int32Array;
  /** The URL of a {@link TaskModule}. */
  readonly tasks: string;
}

/** The task of one thread with its input. It is sent before the state becomes {@link CALLED}. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/** A message from a thread that is idle or has done its job. An error ends the thread instead. */
export type Report =
  | { readonly kind: 'idle' }
  | { readonly kind: 'done'; readonly result: unknown };

/** The index of the cell in `control` that holds one of the states below. */
export const STATE = 0;

/** The thread waits for its job. */
export const IDLE = 0;

/** The thread does the job that was sent to it, then waits. */
export const CALLED = 1;

/** The thread ends. */
export const DISMISSED = 2;

/** Enough repetitions of the warm-up job for V8 to optimize its code. */
const WARM_UP_ROUNDS = 12;

async function main(port: MessagePort, { control, tasks: url }: ThreadData): Promise<void> {
  const { tasks, warmUp }: TaskModule = await import(url);
  repeat(tasks, warmUp());
  port.postMessage({ kind: 'idle' } satisfies Report);
  waitWhile(control, IDLE);
  if (Atomics.load(control, STATE) === DISMISSED) return;
  port.postMessage({ kind: 'done', result: perform(tasks, receive(port)) } satisfies Report);
  // A thread that ends slows down the others, so it waits until it is dismissed.
  waitWhile(control, CALLED);
}

/** Does `job` several times. Each time it arrives as a message, like the real job. */
function repeat(tasks: TaskModule['tasks'], job: Job): void {
  const { port1, port2 } = new MessageChannel();
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    port1.postMessage(job);
    perform(tasks, receive(port2));
  }
  port1.close();
}

/** Returns the job; it was sent before the thread was woken. */
function receive(port: MessagePort): Job {
  return receiveMessageOnPort(port)?.message;
}

function perform(tasks: TaskModule['tasks'], { task, index, input }: Job): unknown {
  return tasks[task]?.(input as never, index);
}

function waitWhile(control: Int32Array, state: number): void {
  while (Atomics.load(control, STATE) === state) Atomics.wait(control, STATE, state);
}

// A service, which imports this module for its types and constants, may itself run in a thread.
if (parentPort && workerData?.kind === POOL_THREAD) await main(parentPort, workerData);
