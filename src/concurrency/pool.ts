// POST /pool/run: threads take items one by one and hash them; a failing item stops no other.
import { createHash } from 'node:crypto';
import { sharedCells } from './sync.ts';
import { demonstration } from './thread.ts';

type Hashed = readonly [index: number, { readonly result: string } | { readonly error: string }];

/** A second bound on the items of a request, independent of the contract. */
const MAX_ITEMS = 100;

export const pool = demonstration({
  prepare({ items, max_workers }: { items: readonly string[]; max_workers: number }) {
    const total = items.length;
    // One cell: how many items have been taken by a thread.
    const input = { items, taken: sharedCells(1) };
    return {
      inputs: Array.from({ length: Math.min(total, max_workers) }, () => input),
      answer(results: readonly (readonly Hashed[])[]) {
        const outcomes = new Map(results.flat());
        const all = items.map((item, index) => ({ item, ...outcomes.get(index) }));
        const succeeded = all.filter((each) => 'result' in each);
        const failed = all.filter((each) => 'error' in each);
        return JSON.stringify({ total, max_workers, succeeded, failed });
      },
    };
  },

  work({ items, taken }) {
    if (items.length > MAX_ITEMS) throw new Error(`a pool takes at most ${MAX_ITEMS} items`);
    const hashed: Hashed[] = [];
    for (;;) {
      const index = Atomics.add(taken, 0, 1);
      const item = items[index];
      if (item === undefined) return hashed;
      try {
        hashed.push([index, { result: hash(item) }]);
      } catch (error) {
        hashed.push([index, { error: (error as Error).message }]);
      }
    }
  },
});

function hash(item: string): string {
  if (item.startsWith('fail')) throw new Error('the item asked for a failure');
  return createHash('sha256').update(item).digest('hex');
}
