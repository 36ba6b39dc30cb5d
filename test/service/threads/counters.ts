// Keeps the threads of the counter busy for as long as a test needs, by holding their locks.
import type { TestContext } from 'node:test';
import { counter } from '../../../src/concurrency/counter.ts';
import { openMutex } from '../../../src/concurrency/sync.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import type { Service } from '../../support/service.ts';

/** Makes all counters of this process wait until the returned function is called. */
export function holdCounters(t: TestContext): () => void {
  const locks: Int32Array[] = [];
  const { prepare } = counter;
  t.mock.method(counter, 'prepare', (request: Parameters<typeof prepare>[0]) => {
    const run = prepare(request);
    const { lock } = run.inputFor(0);
    openMutex(lock).lock();
    locks.push(lock);
    return run;
  });
  return () => {
    for (const lock of locks.splice(0)) openMutex(lock).unlock();
  };
}

/** Resolves with the numbers of threads and of waiting demonstrations that the service reports. */
export async function threadCounts(
  service: Service,
): Promise<{ alive: number; idle: number; waiting: number }> {
  const { text } = await service.request('GET', '/metrics');
  const families = parseExposition(text);
  return {
    alive: sampleOf(families, 'notes_threads_live'),
    idle: sampleOf(families, 'notes_threads_standby'),
    waiting: sampleOf(families, 'notes_demonstrations_waiting'),
  };
}
