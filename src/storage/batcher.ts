// The engine's gear: calls that arrive while a batch is under way travel together in the next one. Nothing waits for a
// timer: an idle service answers at once, and batches grow only with load.
import { DatabaseOverloaded, DatabaseUnavailable } from './database.ts';

/** How large a batch and its queue may grow; sizes are in characters, as `size` of the batcher's options counts them. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchCharacters: 4_194_304,
  queueItems: 8_192,
  queueCharacters: 67_108_864,
};

/** What a batcher needs to know. */
export interface BatcherOptions<Item, Outcome> {
  /** Does the work of one batch; resolves with the outcome of each item in order. If it rejects, nothing was done. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** The characters an item adds to its batch. Default: none. */
  readonly size?: (item: Item) => number;
  readonly limits?: typeof BATCH_LIMITS;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly characters: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that hands an item in and resolves with its outcome. One batch is under way at a time, items keep
 * their order, and a batch holds at least one item and at most what `limits` allow. One that fails is run again one by
 * one, so that an item takes no other along. Rejects with the item's own error, with {@link DatabaseOverloaded} when the
 * queue is full, and with {@link DatabaseUnavailable} when a batch ahead found the database unavailable.
 */
export function createBatcher<Item, Outcome>({
  run,
  size = () => 0,
  limits = BATCH_LIMITS,
}: BatcherOptions<Item, Outcome>): (item: Item) => Promise<Outcome> {
  let queue: Waiting<Item, Outcome>[] = [];
  let queuedCharacters = 0;
  let busy = false;
  /** How many at the head of the queue go one by one, for together they failed. */
  let alone = 0;

  function nextBatch(): Waiting<Item, Outcome>[] {
    let count = 0;
    let batchCharacters = 0;
    const most = alone > 0 ? 1 : limits.batchItems;
    for (const { characters } of queue) {
      if (count > 0 && (count === most || batchCharacters + characters > limits.batchCharacters)) break;
      count += 1;
      batchCharacters += characters;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    queuedCharacters -= batchCharacters;
    if (alone > 0) alone -= 1;
    return batch;
  }

  function putBack(batch: readonly Waiting<Item, Outcome>[]): void {
    queue = [...batch, ...queue];
    queuedCharacters += batch.reduce((sum, { characters }) => sum + characters, 0);
    alone = batch.length;
  }

  function takeAll(): Waiting<Item, Outcome>[] {
    const all = queue;
    queue = [];
    queuedCharacters = 0;
    alone = 0;
    return all;
  }

  async function work(): Promise<void> {
    while (queue.length > 0) {
      const batch = nextBatch();
      try {
        const outcomes = await run(batch.map(({ item }) => item));
        batch.forEach(({ resolve }, index) => {
          resolve(outcomes[index] as Outcome);
        });
      } catch (error) {
        // What waited behind a database that does not answer would only find that out later, one batch after the other.
        if (error instanceof DatabaseUnavailable) rejectAll([...batch, ...takeAll()], error);
        else if (batch.length === 1) rejectAll(batch, error);
        else putBack(batch);
      }
    }
    busy = false;
  }

  return (item) => {
    const characters = size(item);
    if (queue.length >= limits.queueItems || queuedCharacters + characters > limits.queueCharacters) {
      return Promise.reject(new DatabaseOverloaded('the queue of waiting calls is full'));
    }
    return new Promise((resolve, reject) => {
      queue.push({ item, characters, resolve, reject });
      queuedCharacters += characters;
      if (busy) return;
      busy = true;
      // After the input that is ready now has been read, so that calls which arrived together travel together.
      setImmediate(work);
    });
  };
}

function rejectAll(failed: readonly { readonly reject: (error: unknown) => void }[], error: unknown): void {
  for (const { reject } of failed) reject(error);
}
