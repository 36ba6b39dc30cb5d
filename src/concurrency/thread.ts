// The program of a thread of the pool, which warms up, does one job, and waits to be dismissed.
import { MessageChannel, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { Event } from './sync.ts';

/** The tasks by name. Each does the work of thread `index`, counted from 0, synchronously. */
type Tasks = Readonly<Record<string, { work(input: never, index: number): unknown }>>;

/** The task of one thread with its input. Input and result must be structured-cloneable. */
export interface Job {
  readonly task: string;
  readonly index: number;
  readonly input: unknown;
}

/** The member of a thread's data that has its {@link Control}, and tells what the thread is. */
export const CONTROL = 'control of notes-server';

/** The cells of two events: the thread is called to its job or dismissed before; is dismissed. */
export type Control = Readonly<Record<'called' | 'dismissed', Int32Array>>;

/** Enough for V8 to optimize the code. */
const WARM_UP_ROUNDS = 12;

/** Serves one job if this is a thread of a pool. One thread alone can repeat the job `warmUp`. */
export function runThread(tasks: Tasks, warmUp: () => Job): void {
  const control: Control | undefined = workerData?.[CONTROL];
  if (!parentPort || !control) return;
  repeat(tasks, warmUp());
  parentPort.postMessage('idle');
  new Event(control.called).wait();
  const sent = receiveMessageOnPort(parentPort);
  if (!sent) return;
  parentPort.postMessage(perform(tasks, sent.message));
  // A thread that ends slows down the others, so it waits until it is dismissed.
  new Event(control.dismissed).wait();
}

/** Each time `job` arrives as a message, like the real job. */
function repeat(tasks: Tasks, job: Job): void {
  const { port1, port2 } = new MessageChannel();
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    port1.postMessage(job);
    perform(tasks, receiveMessageOnPort(port2)?.message);
  }
  port1.close();
}

function perform(tasks: Tasks, { task, index, input }: Job): unknown {
  return tasks[task]?.work(input as never, index);
}
