// Checks of the primitives. Each names mutants of the module that it must detect, which proves that
// the check can fail. A mutant is the compiled module with one piece of it changed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { startThreads, type TestThreads } from './test-threads.ts';

const SYNC = new URL('../../src/concurrency/sync.js', import.meta.url);

/** The threads that the largest check needs. */
export const MAX_THREADS = 3;

/** What the failures of the checks say. */
const FOUND =
  /were lost|nobody held|were inside|too deep|deep-equal|sleep for good|sleep on|woken in vain/;

/** A mistake: a piece of the compiled module, which occurs once, and its replacement. */
type Mutant = readonly [name: string, from: string, to: string];

/** A check of the primitives. */
export interface Check {
  readonly title: string;
  /** Runs the check; with more rounds it tries harder. */
  readonly run: (threads: TestThreads, rounds: number) => Promise<void>;
  readonly mutants: readonly Mutant[];
}

/**
 * Makes a test of each check. They share their threads; after a failure the next check starts new
 * ones.
 */
export function testChecks(checks: readonly Check[], rounds: number): void {
  const started: TestThreads[] = [];
  let idle: TestThreads | undefined;
  after(() => Promise.all(started.map((threads) => threads.close())));
  for (const { title, run } of checks) {
    test(title, async () => {
      const threads = idle ?? (await startThreads(MAX_THREADS, SYNC.href));
      if (!idle) started.push(threads);
      idle = undefined;
      await run(threads, rounds);
      idle = threads;
    });
  }
}

/** Makes a test of each mutant: its check must fail. */
export function testMutants(checks: readonly Check[]): void {
  for (const { title, run, mutants } of checks) {
    for (const [name, from, to] of mutants) {
      test(`${title}; finds ${name}`, async (t) => {
        const threads = await startThreads(MAX_THREADS, moduleWith(from, to));
        t.after(() => threads.close());
        await assert.rejects(run(threads, 1), FOUND);
      });
    }
  }
}

function moduleWith(from: string, to: string): string {
  // The source map would be looked for beside a data URL.
  const text = readFileSync(SYNC, 'utf8').replace(/^\/\/# sourceMappingURL.*$/m, '');
  assert.equal(text.split(from).length, 2, `the compiled module must contain this once: ${from}`);
  return `data:text/javascript,${encodeURIComponent(text.replace(from, () => to))}`;
}
