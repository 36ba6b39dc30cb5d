// The supply of threads. A crew is a number of fresh threads that do one job for one request and serve no other. As
// starting a thread costs some thirty milliseconds, standbys are started ahead of need once there has been a first need,
// and wait parked; they are let go when nobody has asked for a while.
import { availableParallelism } from 'node:os';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import { unavailable } from '../http/problem.ts';
import { sharedCells } from './sync.ts';
import { CALLED, DISMISSED, type Job, type Report, STATE, type ThreadData } from './thread.ts';

const THREAD = new URL('thread.js', import.meta.url);

const SHUTTING_DOWN = 'The service is shutting down.';

/** Bounds and times of the supply. */
export const CREW_LIMITS = {
  /** How many parked threads are held ready: as many as the largest demonstration needs. */
  standbys: 16,
  /** How long standbys stay without being used. */
  idleMs: 30_000,
  /** How many requests may wait for their crew, and how long. */
  queue: 256,
  queueMs: 10_000,
  /** How long a thread may take to start, and a job to be done, before they count as stuck. */
  startMs: 10_000,
  jobMs: 30_000,
  /** How many threads may be starting at one time: more would only take the processor from each other. */
  starting: availableParallelism(),
  /** The pause between two standbys that are started, and how busy the event loop may be then (0 to 1). */
  refillMs: 20,
  refillUtilization: 0.5,
};

/** What a supply of threads needs to know. */
export interface CrewsOptions {
  /** The module of what threads can do, a TaskModule. */
  readonly tasks: URL;
  /** How many threads may be alive at one time, standbys and those that are ending included. */
  readonly maxThreads: number;
  readonly limits?: typeof CREW_LIMITS;
}

/** A supply of threads. */
export interface Crews {
  /**
   * Has `size` fresh threads run `task`, thread `index` with `inputFor(index)`, and resolves with their results in that
   * order. Who asks first is served first. Rejects with service-unavailable when too many wait or it has waited too long,
   * with the reason of `signal` when that is aborted, and with an Error when a thread throws, ends or hangs; its crew is
   * gone then, and no other is touched.
   */
  withCrew(
    size: number,
    task: string,
    inputFor: (index: number) => unknown,
    signal?: AbortSignal,
  ): Promise<readonly unknown[]>;
  /** How many threads are alive, how many of them are parked, and how many requests wait for theirs. */
  threads(): { readonly alive: number; readonly parked: number; readonly waiting: number };
  /** Refuses who waits and whoever comes, and lets the parked threads go. Crews that are at work go on. */
  shutDown(): void;
  /** Shuts down, and ends the threads at work as well; resolves when all are gone. */
  close(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  readonly control: Int32Array;
  /** Who wants to know what comes of its job; undefined while it has none. */
  employer: Employer | undefined;
}

interface Employer {
  readonly onDone: (result: unknown) => void;
  readonly onFault: (fault: unknown) => void;
}

interface Waiting {
  readonly size: number;
  readonly grant: (crew: Thread[]) => void;
  readonly refuse: (error: unknown) => void;
}

/** Returns a supply of threads that has none yet. */
export function createCrews({ tasks, maxThreads, limits = CREW_LIMITS }: CrewsOptions): Crews {
  const alive = new Set<Thread>();
  const starting = new Set<Thread>();
  const parked = new Set<Thread>();
  const queue = new Set<Waiting>();
  let standbys = 0;
  let refill: NodeJS.Timeout | undefined;
  let idle: NodeJS.Timeout | undefined;
  let closed = false;

  /** Has a thread started; returns false if there can be none. */
  function start(): boolean {
    const control = sharedCells(1);
    const workerData: ThreadData = { control, tasks: tasks.href };
    let worker: Worker;
    try {
      worker = new Worker(THREAD, { workerData });
    } catch (error) {
      onFailedStart(error);
      return false;
    }
    const thread: Thread = { worker, control, employer: undefined };
    alive.add(thread);
    starting.add(thread);
    let fault: unknown = new Error('a thread ended before its job did');
    const timer = setTimeout(() => {
      fault = new Error('a thread took too long to start');
      worker.terminate();
    }, limits.startMs).unref();
    worker.on('message', (report: Report) => {
      if (report.kind === 'done') return thread.employer?.onDone(report.result);
      clearTimeout(timer);
      starting.delete(thread);
      parked.add(thread);
      distribute();
    });
    worker.on('error', (error) => {
      fault = error instanceof Error ? error : new Error(`a thread threw ${inspect(error)}`);
    });
    // A result that cannot be read here; its thread would wait to be let go.
    worker.on('messageerror', (error) => {
      fault = error;
      worker.terminate();
    });
    worker.on('exit', () => {
      clearTimeout(timer);
      alive.delete(thread);
      parked.delete(thread);
      thread.employer?.onFault(fault);
      if (starting.delete(thread)) onFailedStart(fault);
      distribute();
    });
    return true;
  }

  /** Who waits longest is who it was to be started for; and whatever is wrong may be wrong with the next one as well. */
  function onFailedStart(error: unknown): void {
    standbys = 0;
    const [longest] = queue;
    longest?.refuse(error);
  }

  /** Gives parked threads to those who wait, in their order, and has more started where some are missing. */
  function distribute(): void {
    for (const waiting of queue) {
      if (parked.size < waiting.size) break;
      const crew = [...parked].slice(0, waiting.size);
      for (const thread of crew) parked.delete(thread);
      waiting.grant(crew);
    }
    if (queue.size === 0) {
      letSurplusGo();
      refillLater();
      return;
    }
    let wanted = 0;
    for (const { size } of queue) wanted += size;
    const room = () => starting.size < limits.starting && alive.size < maxThreads;
    while (parked.size + starting.size < wanted && room() && start());
  }

  /** Starts a standby when there is time for it: one after the other, and not while the event loop is busy. */
  function refillLater(): void {
    const wanted = () => starting.size === 0 && parked.size < standbys && alive.size < maxThreads;
    if (refill || !wanted()) return;
    const before = performance.eventLoopUtilization();
    refill = setTimeout(() => {
      refill = undefined;
      const { utilization } = performance.eventLoopUtilization(before);
      if (queue.size === 0 && utilization < limits.refillUtilization && wanted()) start();
      refillLater();
    }, limits.refillMs).unref();
  }

  function used(): void {
    standbys = limits.standbys;
    idle ??= setTimeout(() => {
      idle = undefined;
      standbys = 0;
      letSurplusGo();
    }, limits.idleMs).unref();
    idle.refresh();
  }

  /** Lets those go who are parked beyond the standbys; from here on nobody is given them. */
  function letSurplusGo(): void {
    const surplus = [...parked].slice(standbys);
    for (const thread of surplus) parked.delete(thread);
    dismiss(surplus);
  }

  function recruit(size: number, signal: AbortSignal | undefined): Promise<Thread[]> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (closed) throw unavailable(SHUTTING_DOWN);
      used();
      if (queue.size >= limits.queue) throw unavailable('Too many demonstrations wait for threads.');
      const timer = setTimeout(() => waiting.refuse(unavailable('There were no threads in time.')), limits.queueMs);
      const onAbort = () => waiting.refuse(signal?.reason);
      const settle = (outcome: () => void) => {
        queue.delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        outcome();
      };
      const waiting: Waiting = {
        size,
        grant: (crew) => settle(() => resolve(crew)),
        refuse(error) {
          settle(() => reject(error));
          // Who comes next may need fewer threads, and they may be there.
          distribute();
        },
      };
      signal?.addEventListener('abort', onAbort);
      queue.add(waiting);
      distribute();
    });
  }

  function outcomeOf(crew: readonly Thread[], task: string, signal?: AbortSignal): Promise<readonly unknown[]> {
    return new Promise((resolve, reject) => {
      const results: unknown[] = [];
      let missing = crew.length;
      const timer = setTimeout(() => fail(new Error(`${task} took too long`)), limits.jobMs);
      const onAbort = () => fail(signal?.reason);
      const fail = (error: unknown) => settle(() => reject(error));
      const settle = (outcome: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        for (const thread of crew) thread.employer = undefined;
        outcome();
      };
      signal?.addEventListener('abort', onAbort);
      for (const [index, thread] of crew.entries()) {
        const onDone = (result: unknown) => {
          results[index] = result;
          missing -= 1;
          if (missing === 0) settle(() => resolve(results));
        };
        thread.employer = { onDone, onFault: fail };
      }
    });
  }

  function shutDown(): void {
    closed = true;
    clearTimeout(refill);
    clearTimeout(idle);
    standbys = 0;
    const refused = [...queue];
    queue.clear();
    for (const { refuse } of refused) refuse(unavailable(SHUTTING_DOWN));
    letSurplusGo();
  }

  return {
    async withCrew(size, task, inputFor, signal) {
      const crew = await recruit(size, signal);
      try {
        signal?.throwIfAborted();
        for (const [index, { worker }] of crew.entries()) {
          worker.postMessage({ task, index, input: inputFor(index) } satisfies Job);
        }
        for (const { control } of crew) send(control, CALLED);
        const results = await outcomeOf(crew, task, signal);
        // After the answer has been sent, which happens before the event loop turns.
        setImmediate(dismiss, crew);
        return results;
      } catch (error) {
        // They may wait for each other for ever.
        for (const { worker } of crew) worker.terminate();
        throw error;
      }
    },

    threads: () => ({ alive: alive.size, parked: parked.size, waiting: queue.size }),

    shutDown,

    async close() {
      shutDown();
      await Promise.all([...alive].map(({ worker }) => worker.terminate()));
    },
  };
}

function dismiss(threads: Iterable<Thread>): void {
  for (const { control } of threads) send(control, DISMISSED);
}

function send(control: Int32Array, state: typeof CALLED | typeof DISMISSED): void {
  Atomics.store(control, STATE, state);
  Atomics.notify(control, STATE);
}
