// POST /pool/run: a pool of threads takes items one by one and hashes them. One that fails takes no other along.
import { createHash } from 'node:crypto';
import type { Demonstration } from './demonstration.ts';
import { sharedCells } from './sync.ts';

interface Request {
  readonly items: readonly string[];
  readonly max_workers: number;
}

interface Input {
  readonly items: readonly string[];
  /** How many items have been handed out. */
  readonly handedOut: Int32Array;
}

/** What became of the item at a place of the request. */
type Outcome = { readonly place: number; readonly result: string } | { readonly place: number; readonly error: string };

/** The bound of the pool itself, whatever was checked before. Specification, section 8. */
const TASKS_MOST = 100;

/** The demonstration of a pool. Specification, section 4.6: a failing task does not abort the others. */
export const pool: Demonstration<Request, Input, readonly Outcome[]> = {
  prepare({ items, max_workers }) {
    const input: Input = { items, handedOut: sharedCells(1) };
    return {
      size: Math.min(items.length, max_workers),
      inputFor: () => input,
      answer(results) {
        const outcomes = results.flat().sort((one, other) => one.place - other.place);
        const succeeded = outcomes.flatMap((each) =>
          'result' in each ? [{ item: items[each.place], result: each.result }] : [],
        );
        const failed = outcomes.flatMap((each) =>
          'error' in each ? [{ item: items[each.place], error: each.error }] : [],
        );
        return JSON.stringify({ total: items.length, max_workers, succeeded, failed });
      },
    };
  },

  work({ items, handedOut }) {
    if (items.length > TASKS_MOST) throw new Error(`a pool runs at most ${TASKS_MOST} tasks`);
    const outcomes: Outcome[] = [];
    for (;;) {
      const place = Atomics.add(handedOut, 0, 1);
      const item = items[place];
      if (item === undefined) return outcomes;
      outcomes.push({ place, ...outcomeOf(item) });
    }
  },
};

function outcomeOf(item: string): { result: string } | { error: string } {
  try {
    return { result: hash(item) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function hash(item: string): string {
  if (item.startsWith('fail')) throw new Error('the item asked for a failure');
  return createHash('sha256').update(item).digest('hex');
}
