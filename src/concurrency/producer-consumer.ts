// POST /producer-consumer/run: one thread puts items into a bounded queue, others take them out. The texts lie in shared
// memory, and their numbers travel through the queue.
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

/** An item and its place in the request. */
interface Consumed {
  readonly place: number;
  readonly item: string;
}

/** What the producer has put in and the most that were in the queue at one time, or what a consumer took out. */
type Result = { readonly produced: number; readonly maxDepth: number } | readonly Consumed[];

/** The demonstration of a bounded queue. */
export const producerConsumer: Demonstration<Request, Input, Result> = {
  prepare({ items, num_consumers, queue_size }) {
    const input: Input = { queue: queueCells(queue_size), texts: items.map(sharedText), consumers: num_consumers };
    return {
      // The producer is thread 0, so the consumers count from one.
      size: num_consumers + 1,
      inputFor: () => input,
      answer(threads) {
        const { produced, maxDepth: max_depth } = threads[0] as Exclude<Result, readonly Consumed[]>;
        const consumed = threads.flatMap((taken, consumer) =>
          Array.isArray(taken) ? (taken as Consumed[]).map((each) => ({ ...each, consumer })) : [],
        );
        consumed.sort((one, other) => one.place - other.place);
        const results = consumed.map(({ item, consumer }) => ({ item, consumer }));
        return JSON.stringify({ produced, consumed: consumed.length, num_consumers, queue_size, max_depth, results });
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
  for (const place of texts.keys()) maxDepth = Math.max(maxDepth, queue.put(place));
  for (let consumer = 0; consumer < consumers; consumer += 1) queue.put(END);
  return { produced: texts.length, maxDepth };
}

function consume({ queue: cells, texts }: Input): Result {
  const queue = openQueue(cells);
  const consumed: Consumed[] = [];
  for (let place = queue.take(); place !== END; place = queue.take()) {
    const text = texts[place];
    if (text) consumed.push({ place, item: readText(text) });
  }
  return consumed;
}

function sharedText(text: string): Uint16Array {
  const memory = textMemory(text.length);
  writeText(memory, text);
  return memory;
}
