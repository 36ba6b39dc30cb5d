// A thread of the pool, from inside. It loads the tasks, warms up, waits, does the one job it is
// called for, and waits again to be dismissed. It waits on shared memory and never on an event
// loop.
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';

/** What threads can do. */
export interface TaskModule {
  /** The tasks by name. They are synchronous: each blocks its own thread only. */
  readonly tasks: Readonly<Record<string, Task>>;
  /** Returns a job that one thread can do alone, any number of times, to compile its hot code. */
  readonly warmUp: () => Job;
}

/**
 * Does the share of thread `index` (from 0) in a job. Input and result are structured-cloneable.
 */
export type Task = (input: never, index: number) => unknown;

/** What a thread is given when it starts. */
export interface ThreadData {
  /** One cell, at {@link STATE}. */
  readonly control: Int32Array;
  /** The URL of a {@link TaskModule}. */
  readonly tasks: string;
}

/** A job. It is sent to a thread before the thread is called. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/**
 * What a thread reports: that it is idle, and later that its job is done. An error ends the thread
 * instead.
 */
export type Report =
  | { readonly kind: 'idle' }
  | { readonly kind: 'done'; readonly result: unknown };

/** The cell of `control`. */
export const STATE = 0;

/** The thread waits. */
export const IDLE = 0;

/** The thread does the job that was sent to it, and waits. */
export const CALLED = 1;

/** The thread ends. */
export const DISMISSED = 2;

/** Enough rounds for V8 to optimize the lock before the first real job. */
const WARM_UP_ROUNDS = 12;

async function live(port: MessagePort, { control, tasks: url }: ThreadData): Promise<void> {
  const { tasks, warmUp }: TaskModule = await import(url);
  repeat(tasks, warmUp());
  report(port, { kind: 'idle' });
  waitWhile(control, IDLE);
  if (Atomics.load(control, STATE) === DISMISSED) return;
  report(port, { kind: 'done', result: perform(tasks, receive(port)) });
  // Ending a thread slows down the others, so it waits until it is dismissed.
  waitWhile(control, CALLED);
}

/** Does a job several times in the way a real job is done, messages included. */
function repeat(tasks: TaskModule['tasks'], job: Job): void {
  const { port1, port2 } = new MessageChannel();
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    port1.postMessage(job);
    perform(tasks, receive(port2));
  }
  port1.close();
}

/** Returns the job that was sent before the call. */
function receive(port: MessagePort): Job {
  return receiveMessageOnPort(port)?.message;
}

function perform(tasks: TaskModule['tasks'], { task, index, input }: Job): unknown {
  return tasks[task]?.(input as never, index);
}

function waitWhile(control: Int32Array, state: number): void {
  while (Atomics.load(control, STATE) === state) Atomics.wait(control, STATE, state);
}

function report(port: MessagePort, message: Report): void {
  port.postMessage(message);
}

// The main thread imports this module for its types and cells; it has no such port.
if (parentPort) await live(parentPort, workerData);
