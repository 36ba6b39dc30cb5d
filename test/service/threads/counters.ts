// Keeps the threads of the counter busy for as long as a test needs, by holding their locks.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { counter } from '../../../src/concurrency/counter.ts';
import { Mutex } from '../../../src/concurrency/sync.ts';
import { parseExposition, sampleOf } from '../../support/exposition.ts';
import type { Service } from '../../support/service.ts';

/** Makes all counters of this process wait until the returned function is called. */
export function holdCounters(t: TestContext): () => void {
  const held: Mutex[] = [];
  const { prepare } = counter;
  t.mock.method(counter, 'prepare', (request: Parameters<typeof prepare>[0]) => {
    const run = prepare(request);
    const [{ lock } = assert.fail()] = run.inputs;
    const mutex = new Mutex(lock);
    mutex.lock();
    held.push(mutex);
    return run;
  });
  return () => {
    for (const mutex of held.splice(0)) mutex.unlock();
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
