// Crews for a test, with what can be observed from outside: the threads that the process starts, and how requests end.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { CREW_LIMITS, type Crews, createCrews } from '../../src/concurrency/crew.ts';
import { Problem } from '../../src/http/problem.ts';
import { until } from '../support/until.ts';
import { createGate, type Gate, type Identity } from './crew-tasks.ts';

const TASKS = new URL('crew-tasks.js', import.meta.url);

// Each thread would write a file of coverage when it ends.
delete process.env.NODE_V8_COVERAGE;

/** What a test may choose. */
type Choices = Partial<typeof CREW_LIMITS> & { readonly maxThreads?: number; readonly tasks?: URL };

/** Crews under observation. */
export interface WatchedCrews extends Crews {
  readonly limits: typeof CREW_LIMITS;
  /** All threads that the process has started since, in order. */
  readonly started: readonly Worker[];
  /** Those of them that have not ended. */
  readonly living: ReadonlySet<Worker>;
  /** The largest number that lived at one time. */
  most(): number;
}

/**
 * Returns crews that are closed when the test ends. By default they keep no standbys, start two threads at a time, and
 * ignore how busy the event loop is, for a test that waits keeps it busy.
 */
export function startCrews(t: Pick<TestContext, 'after'>, choices: Choices = {}): WatchedCrews {
  const { maxThreads = 8, tasks = TASKS, ...rest } = choices;
  const limits = { ...CREW_LIMITS, standbys: 0, starting: 2, refillUtilization: Number.POSITIVE_INFINITY, ...rest };
  const crews = createCrews({ tasks, maxThreads, limits });
  const started: Worker[] = [];
  const living = new Set<Worker>();
  let most = 0;
  const onWorker = (worker: Worker) => {
    started.push(worker);
    living.add(worker);
    most = Math.max(most, living.size);
    worker.on('exit', () => living.delete(worker));
  };
  process.on('worker', onWorker);
  t.after(async () => {
    await crews.close();
    process.off('worker', onWorker);
  });
  return { ...crews, limits, started, living, most: () => most };
}

/** Resolves with the identities of the threads of a fresh crew. */
export async function identities(crews: Crews, size: number, signal?: AbortSignal): Promise<readonly Identity[]> {
  return (await crews.withCrew(size, 'identify', (index) => index, signal)) as readonly Identity[];
}

/** Asserts that a crew of this size does its work. */
export async function assertServes(crews: Crews, size = 1): Promise<void> {
  const answers = await identities(crews, size);
  assert.deepEqual(
    answers.map(({ index, input, served }) => ({ index, input, served })),
    Array.from({ length: size }, (_, index) => ({ index, input: index, served: 1 })),
  );
}

/** A request that lasts until the test ends it. */
export interface Held {
  readonly gate: Gate;
  readonly answer: Promise<readonly Identity[]>;
  /** Opens the gate and resolves with the answer. */
  finish(): Promise<readonly Identity[]>;
}

/** Requests a crew that works until its gate opens. The request may have to wait for its threads. */
export function enqueue(crews: Crews, size: number, signal?: AbortSignal): Held {
  const gate = createGate();
  const answer = crews.withCrew(size, 'wait', () => gate.cells, signal) as Promise<readonly Identity[]>;
  // Some answers fail only because the crews are closed at the end of a test.
  answer.catch(() => undefined);
  return {
    gate,
    answer,
    finish() {
      gate.open();
      return answer;
    },
  };
}

/** Requests such a crew and resolves once all its threads are at work. */
export async function hold(crews: Crews, size: number, signal?: AbortSignal): Promise<Held> {
  const held = enqueue(crews, size, signal);
  await until(() => held.gate.arrived() === size);
  return held;
}

/** Asserts that a request was refused for now, with this reason. */
export async function assertUnavailable(answer: Promise<unknown>, detail: RegExp): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.slug, 'service-unavailable');
    assert.deepEqual(error.headers, ['retry-after', '1']);
    assert.match(error.message, detail);
    return true;
  });
}
