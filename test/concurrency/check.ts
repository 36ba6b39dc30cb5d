// Runs the checks of the primitives on threads.
import { after, test } from 'node:test';
import { startThreads, type TestThreads } from './test-threads.ts';

/** The threads that the largest check needs. */
export const MAX_THREADS = 3;

/** A check of the primitives. */
export interface Check {
  readonly title: string;
  /** Runs the check; with more rounds it tries harder. */
  readonly run: (threads: TestThreads, rounds: number) => Promise<void>;
}

/** Makes a test of each check. They share threads; after a failure the next starts new ones. */
export function testChecks(checks: readonly Check[], rounds: number): void {
  const started: TestThreads[] = [];
  let idle: TestThreads | undefined;
  after(() => Promise.all(started.map((threads) => threads.close())));
  for (const { title, run } of checks) {
    test(title, async () => {
      const threads = idle ?? startThreads(MAX_THREADS);
      if (!idle) started.push(threads);
      idle = undefined;
      await run(threads, rounds);
      idle = threads;
    });
  }
}
