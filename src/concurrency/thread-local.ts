// POST /thread-local/run: each thread stores its own values under the same key, without a lock. In
// the first round, a barrier makes all threads write before any of them reads.
import { Barrier } from './sync.ts';
import { demonstration } from './thread.ts';

interface Result {
  /** The thread's elements of the `results` array, as JSON text without the brackets. */
  readonly results: string;
  readonly isolated: boolean;
}

const MAX_THREADS = 8;

/** Thread-local, because each thread loads this module separately. It is empty between leases. */
const context = new Map<string, string>();

export const threadLocal = demonstration({
  prepare({ items, context_key }: { items: readonly string[]; context_key: string }) {
    const total = items.length;
    const workers = Math.min(total, MAX_THREADS);
    const allWritten = Barrier.cells(workers);
    const startOf = (index: number) => Math.floor((total * index) / workers);
    return {
      inputs: Array.from({ length: workers }, (_, index) => {
        const share = items.slice(startOf(index), startOf(index + 1));
        return { key: context_key, items: share, allWritten };
      }),
      answer(threads: readonly Result[]) {
        const isolated = threads.every((thread) => thread.isolated);
        const head = JSON.stringify({ context_key, total, workers, isolated });
        // There may be hundreds of thousands of results, so the threads serialize their own parts.
        const results = threads.map((thread) => thread.results).join(',');
        return `${head.slice(0, -1)},"results":[${results}]}`;
      },
    };
  },

  work({ key, items, allWritten }, index) {
    const barrier = new Barrier(allWritten);
    // Nothing is left of an earlier lease of this thread.
    let isolated = context.size === 0;
    const results = items.map((item, round) => {
      context.set(key, item);
      if (round === 0) barrier.arrive();
      const value = context.get(key);
      isolated &&= value === item;
      return JSON.stringify({ item, value, worker: index + 1 });
    });
    context.clear();
    return { results: results.join(','), isolated };
  },
});
