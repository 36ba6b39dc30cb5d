// POST /producer-consumer/run: one thread adds indexes to a bounded queue, and others take them.
import { BoundedQueue, END } from './sync.ts';
import { demonstration } from './thread.ts';

interface Request {
  readonly items: readonly string[];
  readonly num_consumers: number;
  readonly queue_size: number;
}

interface Result {
  readonly maxDepth?: number;
  readonly taken: readonly number[];
}

/** Demonstrates a bounded queue. Thread 0 is the producer. */
export const producerConsumer = demonstration({
  prepare({ items, num_consumers, queue_size }: Request) {
    const produced = items.length;
    const queue = BoundedQueue.cells(queue_size);
    const input = { queue, items: produced, consumers: num_consumers };
    return {
      inputs: Array.from({ length: 1 + num_consumers }, () => input),
      answer(threads: readonly Result[]) {
        const max_depth = threads[0]?.maxDepth;
        const results = threads
          .flatMap(({ taken }, consumer) => taken.map((index) => ({ index, consumer })))
          .sort((one, other) => one.index - other.index)
          .map(({ index, consumer }) => ({ item: items[index], consumer }));
        const totals = { produced, consumed: results.length };
        return JSON.stringify({ ...totals, num_consumers, queue_size, max_depth, results });
      },
    };
  },

  work({ queue: cells, items, consumers }, index) {
    const queue = new BoundedQueue(cells);
    return index === 0 ? produce(queue, items, consumers) : consume(queue);
  },
});

function produce(queue: BoundedQueue, items: number, consumers: number): Result {
  let maxDepth = 0;
  for (let index = 0; index < items; index += 1) maxDepth = Math.max(maxDepth, queue.put(index));
  for (let consumer = 0; consumer < consumers; consumer += 1) queue.put(END);
  return { maxDepth, taken: [] };
}

function consume(queue: BoundedQueue): Result {
  const taken: number[] = [];
  for (let index = queue.take(); index !== END; index = queue.take()) taken.push(index);
  return { taken };
}
