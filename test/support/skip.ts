// Skips tests that cannot run here and prints why, because the report only counts skipped tests.
import type { TestContext } from 'node:test';

/** Skips the test and prints the reason. */
export function skipLoudly(test: Pick<TestContext, 'skip' | 'name'>, reason: string): void {
  process.stderr.write(`\n*** SKIPPED: ${test.name}: ${reason} ***\n\n`);
  test.skip(reason);
}
