// POST /producer-consumer/run: one thread adds items to a bounded queue, and others take them. The
// texts are in shared memory; the queue contains only their indexes.
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

/** How many items the producer added, and how many were in the queue at most. */
interface Produced {
  readonly produced: number;
  readonly maxDepth: number;
}

type Result = Produced | readonly Consumed[];

/** Demonstrates a bounded queue. */
export const producerConsumer: Demonstration<Request, Input, Result> = {
  prepare({ items, num_consumers, queue_size }) {
    const input: Input = {
      queue: queueCells(queue_size),
      texts: items.map(shareText),
      consumers: num_consumers,
    };
    return {
      // Thread 0 is the producer; the consumers are numbered from 1.
      size: num_consumers + 1,
      inputFor: () => input,
      answer(threads) {
        const [producer, ...consumers] = threads as [Produced, ...(readonly Consumed[])[]];
        const { produced, maxDepth: max_depth } = producer;
        const results = consumers
          .flatMap((taken, index) => taken.map((each) => ({ ...each, consumer: index + 1 })))
          .sort((one, other) => one.index - other.index)
          .map(({ item, consumer }) => ({ item, consumer }));
        const totals = { produced, consumed: results.length };
        return JSON.stringify({ ...totals, num_consumers, queue_size, max_depth, results });
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
