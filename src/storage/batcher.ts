// The engine's gear: calls that arrive while a batch is under way travel together in the next one. Nothing waits for a
// timer: an idle service answers at once, and batches grow only with load.
import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseOverloaded, DatabaseUnavailable, DatabaseUncertain } from './database.ts';

/** How large a batch and its queue may grow; sizes are as `size` of the batcher's options counts them. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchSize: 4_194_304,
  queueItems: 8_192,
  queueSize: 67_108_864,
  /** So many items may wait at any time, and as many as go in `waitMs` or in so many batches, as it went lately. */
  shortItems: 128,
  waitMs: 50,
  waitBatches: 2,
  /** So many more are taken in now and then, for a burst is what a queue is for; one of them comes back in so many ms. */
  burstItems: 4_096,
  burstItemMs: 4,
};

/** What is told of the batches of one kind, as it happens. */
export interface BatchMeter {
  /** Given once by each batcher of the kind: tells how many items wait for their batch. */
  watch(waiting: () => number): void;
  /** A batch of so many items was done, in so many milliseconds. */
  done(items: number, milliseconds: number): void;
}

/** What a batcher needs to know. */
export interface BatcherOptions<Item, Outcome> {
  /** Does the work of one batch; resolves with the outcome of each item in order. If it rejects, nothing was done. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Is waited for before a batch is put together: what arrives meanwhile travels with it. Default: nothing. */
  readonly ready?: (() => Promise<void>) | undefined;
  /** What an item adds to the size of its batch. Default: nothing. */
  readonly size?: (item: Item) => number;
  /** Is told of an item when it has its turn; if it throws, the item is left out and rejects with the same error. */
  readonly check?: (item: Item) => void;
  /** How many batches may be under way at one time. Default: one, so that items keep their order. */
  readonly lanes?: number;
  /** Whether the engine works beside the event loop, on another core. Default: whether there is one. */
  readonly beside?: boolean;
  readonly limits?: typeof BATCH_LIMITS;
  readonly meter?: BatchMeter | undefined;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly itemSize: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that hands an item in and resolves with its outcome. Of each lane one batch is under way at a time;
 * it holds the items that have waited longest, at least one and at most what `limits` allow. One that fails is run again
 * one by one, so that an item takes no other along. Rejects with the item's own error, with {@link DatabaseOverloaded}
 * when the queue is full or too long, and with {@link DatabaseUnavailable} when a batch ahead found the database unavailable.
 */
export function createBatcher<Item, Outcome>({
  run,
  ready,
  size = () => 0,
  check = () => {},
  lanes = 1,
  beside = availableParallelism() > 1,
  limits = BATCH_LIMITS,
  meter,
}: BatcherOptions<Item, Outcome>): (item: Item) => Promise<Outcome> {
  let queue: Waiting<Item, Outcome>[] = [];
  let queuedSize = 0;
  let busyLanes = 0;
  /** How many at the head of the queue go one by one, for together they failed. */
  let alone = 0;
  /** How much went lately and how many ms that took, from batch to batch and whatever they were spent on. */
  const lately = { items: 1, batches: 1, ms: 0 };
  let lastDone = 0;
  let burst = limits.burstItems;
  let lastBurst = 0;
  let wasShort = true;
  meter?.watch(() => queue.length);

  function isFull(itemSize: number): boolean {
    const { length } = queue;
    if (length >= limits.queueItems || queuedSize + itemSize > limits.queueSize) return true;
    const waitMs = Math.max(limits.waitMs, (limits.waitBatches * lately.ms) / lately.batches);
    if (length < limits.shortItems || length * lately.ms < waitMs * lately.items) {
      wasShort = true;
      return false;
    }
    // Only where a burst begins: a queue that stays long is none, however slowly it grows.
    if (wasShort) {
      const now = performance.now();
      burst = Math.min(limits.burstItems, burst + (now - lastBurst) / limits.burstItemMs);
      lastBurst = now;
      wasShort = false;
    }
    if (burst < 1) return true;
    burst -= 1;
    return false;
  }

  function measure(since: number, items: number): void {
    const now = performance.now();
    lately.items += items - lately.items / 8;
    lately.batches += 1 - lately.batches / 8;
    lately.ms += now - Math.max(since, lastDone) - lately.ms / 8;
    lastDone = now;
  }

  function nextBatch(): Waiting<Item, Outcome>[] {
    let count = 0;
    let batchSize = 0;
    const most = alone > 0 ? 1 : limits.batchItems;
    for (const { itemSize } of queue) {
      if (count > 0 && (count === most || batchSize + itemSize > limits.batchSize)) break;
      count += 1;
      batchSize += itemSize;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    queuedSize -= batchSize;
    if (alone > 0) alone -= 1;
    return batch;
  }

  function isWanted({ item, reject }: Waiting<Item, Outcome>): boolean {
    try {
      check(item);
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  }

  function putBack(batch: readonly Waiting<Item, Outcome>[]): void {
    queue = [...batch, ...queue];
    queuedSize += batch.reduce((sum, { itemSize }) => sum + itemSize, 0);
    alone += batch.length;
  }

  function takeAll(): Waiting<Item, Outcome>[] {
    const all = queue;
    queue = [];
    queuedSize = 0;
    alone = 0;
    return all;
  }

  async function work(): Promise<void> {
    let since = performance.now();
    while (queue.length > 0) {
      if (ready) await ready();
      const batch = nextBatch().filter(isWanted);
      if (batch.length === 0) continue;
      try {
        const started = performance.now();
        const outcomes = await run(batch.map(({ item }) => item));
        meter?.done(batch.length, performance.now() - started);
        measure(since, batch.length);
        batch.forEach(({ resolve }, index) => {
          resolve(outcomes[index] as Outcome);
        });
      } catch (error) {
        since = performance.now();
        // What waited behind a database that does not answer would only find that out later, one batch after the other.
        if (error instanceof DatabaseUnavailable) {
          rejectAll(batch, error);
          rejectAll(takeAll(), certain(error));
        } else if (batch.length === 1) rejectAll(batch, error);
        else putBack(batch);
      }
      // On one core there is nothing to gain by going on while the answers go out: those who get them ask again, and a
      // larger batch costs less.
      if (!beside && batch.length > 1) await nextTurn().then(() => nextTurn());
    }
    busyLanes -= 1;
  }

  return (item) => {
    const itemSize = size(item);
    if (isFull(itemSize)) return Promise.reject(OVERLOADED);
    return new Promise((resolve, reject) => {
      queue.push({ item, itemSize, resolve, reject });
      queuedSize += itemSize;
      if (busyLanes === lanes) return;
      busyLanes += 1;
      // After the input that is ready now has been read, so that calls which arrived together travel together.
      setImmediate(work);
    });
  };
}

/** Made once: what tells nobody where it came from need not find that out each time, which took longer than a read. */
const OVERLOADED = new DatabaseOverloaded('the queue of waiting calls is full');

/** What an error means for those whose turn had not come. */
function certain(error: DatabaseUnavailable): DatabaseUnavailable {
  return error instanceof DatabaseUncertain ? new DatabaseUnavailable(error.message, { cause: error }) : error;
}

function rejectAll(failed: readonly { readonly reject: (error: unknown) => void }[], error: unknown): void {
  for (const { reject } of failed) reject(error);
}
