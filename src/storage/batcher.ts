// The engine's gear: calls that arrive while a batch is under way travel together in the next one. Nothing waits for a
// timer: an idle service answers at once, and batches grow only with load.
import { DatabaseUnavailable } from './database.ts';

/** How large a batch and its queue may grow; sizes are in characters, as `size` of the batcher's options counts them. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchCharacters: 4_194_304,
  queueItems: 8_192,
  queueCharacters: 67_108_864,
};

/** What a batcher needs to know. */
export interface BatcherOptions<Item, Outcome> {
  /** Does the work of one batch; resolves with the outcome of each item in order, an Error for one that failed alone. */
  readonly run: (items: readonly Item[]) => Promise<readonly (Outcome | Error)[]>;
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
 * their order, and a batch holds at least one item and at most what `limits` allow. Rejects with
 * {@link DatabaseUnavailable} when the queue is full or the batch ahead found the database unavailable, else with the
 * item's own error or the batch's.
 */
export function createBatcher<Item, Outcome>({
  run,
  size = () => 0,
  limits = BATCH_LIMITS,
}: BatcherOptions<Item, Outcome>): (item: Item) => Promise<Outcome> {
  let queue: Waiting<Item, Outcome>[] = [];
  let queuedCharacters = 0;
  let busy = false;

  function nextBatch(): Waiting<Item, Outcome>[] {
    let count = 0;
    let batchCharacters = 0;
    for (const { characters } of queue) {
      if (count > 0 && (count === limits.batchItems || batchCharacters + characters > limits.batchCharacters)) break;
      count += 1;
      batchCharacters += characters;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    queuedCharacters -= batchCharacters;
    return batch;
  }

  function takeAll(): Waiting<Item, Outcome>[] {
    const all = queue;
    queue = [];
    queuedCharacters = 0;
    return all;
  }

  async function work(): Promise<void> {
    while (queue.length > 0) {
      const batch = nextBatch();
      try {
        const outcomes = await run(batch.map(({ item }) => item));
        batch.forEach(({ resolve, reject }, index) => {
          const outcome = outcomes[index];
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome as Outcome);
        });
      } catch (error) {
        // What waited behind a database that does not answer would only find that out later, one batch after the other.
        const failed = error instanceof DatabaseUnavailable ? [...batch, ...takeAll()] : batch;
        for (const { reject } of failed) reject(error);
      }
    }
    busy = false;
  }

  return (item) => {
    const characters = size(item);
    if (queue.length >= limits.queueItems || queuedCharacters + characters > limits.queueCharacters) {
      return Promise.reject(new DatabaseUnavailable('the queue of waiting calls is full'));
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
