// A thread of a crew: loads what there is to do, rehearses, parks, does the one job it is called for, and parks again until
// it is let go. Nothing here waits on an event loop: what a thread waits for are its cells.
import { MessageChannel, type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';

/** What a thread can be asked to do, by name. Tasks are synchronous: they block their thread and no other. */
export interface TaskModule {
  readonly tasks: Readonly<Record<string, Task>>;
  /** Returns a job that one thread can do alone, time and again: by that it warms its code up before the first real one. */
  readonly rehearsal: () => Job;
}

/** Does the share of thread `index` (from 0) in a job; input and result are structured-cloneable. */
export type Task = (input: never, index: number) => unknown;

/** What a thread is given when it starts. */
export interface ThreadData {
  /** One cell, which says what the thread is to do. */
  readonly control: Int32Array;
  /** The URL of a {@link TaskModule}. */
  readonly tasks: string;
}

/** A job, as it is sent to a thread that is then called. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/** What a thread says: that it is parked, and later that its job is done. What it throws ends it instead. */
export type Report = { readonly kind: 'parked' } | { readonly kind: 'done'; readonly result: unknown };

/** The cell of `control`. */
export const STATE = 0;

/** The thread is to wait. */
export const PARKED = 0;

/** The thread is to do the job that has been sent to it. */
export const CALLED = 1;

/** The thread is to end. */
export const DISMISSED = 2;

/** With fewer the lock of the counter would be compiled by the optimizing compiler in the middle of a job. */
const REHEARSALS = 12;

async function live(port: MessagePort, { control, tasks: url }: ThreadData): Promise<void> {
  const { tasks, rehearsal }: TaskModule = await import(url);
  rehearse(tasks, rehearsal());
  say(port, { kind: 'parked' });
  waitWhile(control, PARKED);
  if (Atomics.load(control, STATE) === DISMISSED) return;
  say(port, { kind: 'done', result: perform(tasks, received(port)) });
  // Not before the answer has been sent: a thread that ends takes time from those that still work.
  waitWhile(control, CALLED);
}

/** Does a job as it will be done, from the message on, often enough to have the hot code compiled. */
function rehearse(tasks: TaskModule['tasks'], job: Job): void {
  const { port1, port2 } = new MessageChannel();
  for (let round = 0; round < REHEARSALS; round += 1) {
    port1.postMessage(job);
    perform(tasks, received(port2));
  }
  port1.close();
}

/** The job that was sent before: as a thread is called only afterwards, it is there. */
function received(port: MessagePort): Job {
  return receiveMessageOnPort(port)?.message;
}

function perform(tasks: TaskModule['tasks'], { task, index, input }: Job): unknown {
  return tasks[task]?.(input as never, index);
}

function waitWhile(control: Int32Array, state: number): void {
  while (Atomics.load(control, STATE) === state) Atomics.wait(control, STATE, state);
}

function say(port: MessagePort, report: Report): void {
  port.postMessage(report);
}

// In the main thread, where this module is imported for its types and cells, there is no such port.
if (parentPort) await live(parentPort, workerData);
