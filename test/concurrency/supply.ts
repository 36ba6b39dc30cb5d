// A supply of threads for a test, and what can be seen of it from outside: which threads there were and are, by the process
// itself, and how requests were refused.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { CREW_LIMITS, type Crews, createCrews } from '../../src/concurrency/crew.ts';
import { Problem } from '../../src/http/problem.ts';
import { until } from '../support/until.ts';
import { createGate, type Gate, type Identity } from './crew-tasks.ts';

/** The tasks that threads have unless a test says otherwise. */
export const TASKS = new URL('crew-tasks.js', import.meta.url);

/** What a test may choose of its supply. */
export type SupplyOptions = Partial<typeof CREW_LIMITS> & { readonly maxThreads?: number; readonly tasks?: URL };

/** A supply that is watched. */
export interface Supply extends Crews {
  readonly limits: typeof CREW_LIMITS;
  /** All threads that the process has started since, in their order. */
  readonly started: readonly Worker[];
  /** Those of them that have not ended. */
  readonly living: ReadonlySet<Worker>;
  /** The most that lived at one time. */
  most(): number;
}

/**
 * Starts a supply that is closed when the test ends. Unless told otherwise it has no standbys, starts two threads at a time,
 * and does not care how busy the event loop is, which is busy whenever a test waits.
 */
export function startSupply(t: Pick<TestContext, 'after'>, options: SupplyOptions = {}): Supply {
  const { maxThreads = 8, tasks = TASKS, ...rest } = options;
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

/** For tests with many threads: each of them would write a file of coverage when it ends. */
export function withoutCoverage(t: Pick<TestContext, 'after'>): void {
  const { NODE_V8_COVERAGE: folder } = process.env;
  delete process.env.NODE_V8_COVERAGE;
  t.after(() => {
    if (folder !== undefined) process.env.NODE_V8_COVERAGE = folder;
  });
}

/** Resolves with who the threads of a fresh crew are. */
export async function identities(crews: Crews, size: number, signal?: AbortSignal): Promise<readonly Identity[]> {
  return (await crews.withCrew(size, 'identify', (index) => index, signal)) as readonly Identity[];
}

/** Asserts that the supply gives a crew of this size its work and gets the right answer. */
export async function assertServes(crews: Crews, size = 2): Promise<void> {
  const answers = await identities(crews, size);
  assert.deepEqual(
    answers.map(({ index, input, served }) => ({ index, input, served })),
    Array.from({ length: size }, (_, index) => ({ index, input: index, served: 1 })),
  );
}

/** A request that is under way for as long as the test wants. */
export interface Held {
  readonly gate: Gate;
  readonly answer: Promise<readonly Identity[]>;
  /** Ends it and resolves with its answer. */
  finish(): Promise<readonly Identity[]>;
}

/** Asks for a crew that works until it is told to finish. It may still have to wait for its threads. */
export function ask(crews: Crews, size: number, signal?: AbortSignal): Held {
  const gate = createGate();
  const answer = crews.withCrew(size, 'wait', () => gate.cells, signal) as Promise<readonly Identity[]>;
  // Each test looks at those that it expects to fail; the others may end with their supply.
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

/** The same, and resolves once all its threads are at work. */
export async function hold(crews: Crews, size: number, signal?: AbortSignal): Promise<Held> {
  const held = ask(crews, size, signal);
  await until(() => held.gate.arrived() === size);
  return held;
}

/** Asserts that a request was sent away for now. */
export async function assertUnavailable(answer: Promise<unknown>, detail: RegExp): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.slug, 'service-unavailable');
    assert.deepEqual(error.headers, ['retry-after', '1']);
    assert.match(error.message, detail);
    return true;
  });
}

/** What keeps the process from ending, but for what this very turn of the event loop has to do. */
export function openHandles(): string {
  return process
    .getActiveResourcesInfo()
    .filter((each) => each !== 'Immediate')
    .sort()
    .join(', ');
}
