// POST /producer-consumer/run: one thread adds items to a bounded queue, others take them. The
// texts are in shared memory; the queue carries their indexes.
import type { Demonstration } from './demonstration.ts';
import { readText, textMemory, writeText } from './shared-text.ts';
import { END, openQueue, queueCells } from './sync.ts';

interface Request {
  readonly items: readonly string[];
  readonly num_consumers: number;
  readonly queue_size: number;
}

interface Input {
  readonly queue: Int32Array;
  readonly texts: readonly Uint16Array[];
  readonly consumers: number;
}

/** An item and its index in the request. */
interface Consumed {
  readonly index: number;
  readonly item: string;
}

/**
 * How many items the producer added and the largest depth of the queue, or the items that a
 * consumer took.
 */
type Result = { readonly produced: number; readonly maxDepth: number } | readonly Consumed[];

/** The demonstration of a bounded queue. */
export const producerConsumer: Demonstration<Request, Input, Result> = {
  prepare({ items, num_consumers, queue_size }) {
    const input: Input = {
      queue: queueCells(queue_size),
      texts: items.map(shareText),
      consumers: num_consumers,
    };
    return {
      // Thread 0 is the producer, so the consumers are numbered from 1.
      size: num_consumers + 1,
      inputFor: () => input,
      answer(threads) {
        const { produced, maxDepth: max_depth } = threads[0] as Exclude<
          Result,
          readonly Consumed[]
        >;
        const consumed = threads.flatMap((taken, consumer) =>
          Array.isArray(taken) ? (taken as Consumed[]).map((each) => ({ ...each, consumer })) : [],
        );
        consumed.sort((one, other) => one.index - other.index);
        const results = consumed.map(({ item, consumer }) => ({ item, consumer }));
        return JSON.stringify({
          produced,
          consumed: consumed.length,
          num_consumers,
          queue_size,
          max_depth,
          results,
        });
      },
    };
  },

  work(input, index) {
    return index === 0 ? produce(input) : consume(input);
  },
};

function produce({ queue: cells, texts, consumers }: Input): Result {
  const queue = openQueue(cells);
  let maxDepth = 0;
  for (const index of texts.keys()) maxDepth = Math.max(maxDepth, queue.put(index));
  for (let consumer = 0; consumer < consumers; consumer += 1) queue.put(END);
  return { produced: texts.length, maxDepth };
}

function consume({ queue: cells, texts }: Input): Result {
  const queue = openQueue(cells);
  const consumed: Consumed[] = [];
  for (let index = queue.take(); index !== END; index = queue.take()) {
    const text = texts[index];
    if (text) consumed.push({ index, item: readText(text) });
  }
  return consumed;
}

function shareText(text: string): Uint16Array {
  const memory = textMemory(text.length);
  writeText(memory, text);
  return memory;
}
