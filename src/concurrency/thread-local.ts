// POST /thread-local/run: each thread stores its own value under the same key. Nothing is shared,
// so no lock is needed. In each of the first rounds, a barrier makes all threads write before any
// of them reads.
import type { Demonstration } from './demonstration.ts';
import { barrierCells, openBarrier } from './sync.ts';

interface Request {
  readonly items: readonly string[];
  readonly context_key: string;
}

interface Input {
  readonly key: string;
  /** The thread's share of the items. */
  readonly items: readonly string[];
  /** The size of the largest share. Every thread does this many rounds, to meet at the barrier. */
  readonly rounds: number;
  /** The cells of the barrier. */
  readonly allWritten: Int32Array;
}

interface Result {
  /** The thread's elements of the `results` array, as JSON text without the brackets. */
  readonly results: string;
  readonly isolated: boolean;
}

const MAX_THREADS = 8;

/** How many rounds use the barrier; in each, threads sleep until the last one arrives. */
const MAX_BARRIER_ROUNDS = 64;

/** Thread-local, because each thread loads this module separately. */
const context = new Map<string, string>();

/** Demonstrates thread-local storage. */
export const threadLocal: Demonstration<Request, Input, Result> = {
  prepare({ items, context_key }) {
    const total = items.length;
    const workers = Math.min(total, MAX_THREADS);
    const allWritten = barrierCells(workers);
    const rounds = Math.ceil(total / workers);
    const startOf = (index: number) => Math.floor((total * index) / workers);
    return {
      size: workers,
      inputFor: (index) => ({
        key: context_key,
        items: items.slice(startOf(index), startOf(index + 1)),
        rounds,
        allWritten,
      }),
      answer(threads) {
        const isolated = threads.every((thread) => thread.isolated);
        const head = JSON.stringify({ context_key, total, workers, isolated });
        // There may be hundreds of thousands of results, so the threads serialize their own parts.
        const results = threads.map((thread) => thread.results).join(',');
        return `${head.slice(0, -1)},"results":[${results}]}`;
      },
    };
  },

  work({ key, items, rounds, allWritten }, index) {
    const barrier = openBarrier(allWritten);
    const results: string[] = [];
    let isolated = true;
    for (let round = 0; round < rounds; round += 1) {
      const item = items[round];
      if (item !== undefined) context.set(key, item);
      if (round < MAX_BARRIER_ROUNDS) barrier.arrive();
      if (item === undefined) continue;
      const value = context.get(key);
      isolated &&= value === item;
      results.push(JSON.stringify({ item, value, worker: index + 1 }));
    }
    return { results: results.join(','), isolated };
  },
};
