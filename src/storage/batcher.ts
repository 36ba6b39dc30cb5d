// Groups calls into batches: calls that arrive while a batch runs form the next one. There are no
// timers, so an idle service answers at once, and batches grow only with load.
import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseUnavailable, DatabaseUncertain, StorageError } from './database.ts';

/** The limits of a batch and of its queue. Each batcher chooses the unit of its sizes. */
export const BATCH_LIMITS = {
  batchItems: 512,
  batchSize: 2_097_152,
  /** Turns of the event loop after a batch, in which clients send more on a single core. */
  pauseTurns: availableParallelism() > 1 ? 0 : 4,
  queueItems: 8_192,
  queueSize: 67_108_864,
  /** How long an item may wait: `waitMs` if the queue was last empty more than `burstMs` ago. */
  burstMs: 1_000,
  waitMs: 50,
  /** The latest items up to this number may wait for `lateMs`, so that every call ends in time. */
  guaranteedItems: 128,
  lateMs: 10_000,
};

/** The queue of a batcher is full. This says nothing about the health of the database. */
export class QueueFull extends StorageError {}

/** Observes the batches of one kind. */
export interface BatchMeter {
  watch(queueLength: () => number): void;
  done(items: number, milliseconds: number): void;
}

interface BatcherOptions<Item, Outcome> {
  /** Unless it rejects with {@link DatabaseUncertain}, a failed batch must have had no effect. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Awaited before a batch is formed of what waits. Must not reject. */
  readonly ready?: ((waiting: () => readonly Item[]) => Promise<void> | undefined) | undefined;
  /** Returns why an item that a batch has room for must not run; undefined if it may. */
  readonly refusalFor?: (item: Item) => unknown;
  /** What an item takes in the queue. */
  readonly size?: (item: Item) => number;
  /** What it takes in a batch, which may be known better after `ready`. Default: its size. */
  readonly cost?: (item: Item) => number;
  /** Default: 1, which preserves the order of the items. */
  readonly concurrency?: number;
  readonly limits?: typeof BATCH_LIMITS;
  readonly meter?: BatchMeter | undefined;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly itemSize: number;
  readonly sinceMs: number;
  /** Whether its batch has failed, so that it runs alone. */
  readonly isRetry?: boolean;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A shared instance, because capturing a stack trace costs more than reading a record. */
const QUEUE_FULL = new QueueFull('the queue of waiting calls is full');

/** Runs items in batches, oldest first; small ones overtake those for which a batch has no room. */
export class Batcher<Item, Outcome> {
  readonly #options: BatcherOptions<Item, Outcome>;
  readonly #limits: typeof BATCH_LIMITS;
  #queue: Waiting<Item, Outcome>[] = [];
  #queuedSize = 0;
  #lastEmptyMs = 0;
  #loops = 0;

  constructor(options: BatcherOptions<Item, Outcome>) {
    const { limits = BATCH_LIMITS, meter } = options;
    this.#options = options;
    this.#limits = limits;
    meter?.watch(() => this.#queue.length);
  }

  /** If a batch fails, its items run again one by one; if unavailable, all that wait reject. */
  submit(item: Item): Promise<Outcome> {
    const { size, concurrency = 1 } = this.#options;
    const { queueItems, queueSize } = this.#limits;
    const itemSize = size?.(item) ?? 0;
    if (this.#queue.length >= queueItems || this.#queuedSize + itemSize > queueSize)
      return Promise.reject(QUEUE_FULL);
    const sinceMs = performance.now();
    if (this.#queue.length === 0) this.#lastEmptyMs = sinceMs;
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, itemSize, sinceMs, resolve, reject });
      this.#queuedSize += itemSize;
      if (this.#loops < concurrency) void this.#runBatches();
    });
  }

  async #runBatches(): Promise<void> {
    this.#loops += 1;
    // Calls of one synchronous run, such as the requests that arrived together, share a batch.
    await undefined;
    const { run, ready, meter } = this.#options;
    const waiting = () => this.#queue.map(({ item }) => item);
    while (this.#queue.length > 0) {
      const preparing = ready?.(waiting);
      if (preparing) await preparing;
      const batch = this.#nextBatch();
      if (batch.length === 0) continue;
      try {
        const started = performance.now();
        const outcomes = await run(batch.map(({ item }) => item));
        meter?.done(batch.length, performance.now() - started);
        for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index] as Outcome);
      } catch (error) {
        this.#fail(batch, error);
      }
      const pause = batch.length > 1 ? this.#limits.pauseTurns : 0;
      for (let turn = 0; turn < pause; turn += 1) await nextTurn();
    }
    this.#loops -= 1;
  }

  #fail(batch: readonly Waiting<Item, Outcome>[], error: unknown): void {
    if (error instanceof DatabaseUnavailable) {
      for (const { reject } of batch) reject(error);
      // Their batches would fail the same way. They changed nothing, so their outcome is certain.
      const certain =
        error instanceof DatabaseUncertain
          ? new DatabaseUnavailable(error.message, { cause: error })
          : error;
      for (const { reject } of this.#queue) reject(certain);
      [this.#queue, this.#queuedSize] = [[], 0];
    } else if (batch.length === 1) {
      batch[0]?.reject(error);
    } else {
      this.#queue = [...batch.map((each) => ({ ...each, isRetry: true })), ...this.#queue];
      for (const { itemSize } of batch) this.#queuedSize += itemSize;
    }
  }

  #nextBatch(): Waiting<Item, Outcome>[] {
    const { batchItems, batchSize } = this.#limits;
    const maxItems = this.#queue[0]?.isRetry ? 1 : batchItems;
    const batch: Waiting<Item, Outcome>[] = [];
    const overtaken: Waiting<Item, Outcome>[] = [];
    const { cost, refusalFor } = this.#options;
    let [seen, total] = [0, 0];
    for (const each of this.#queue) {
      if (batch.length === maxItems) break;
      seen += 1;
      const itemCost = cost?.(each.item) ?? each.itemSize;
      if (batch.length > 0 && total + itemCost > batchSize) {
        overtaken.push(each);
        continue;
      }
      this.#queuedSize -= each.itemSize;
      const refusal = refusalFor?.(each.item);
      if (refusal !== undefined) {
        each.reject(refusal);
        continue;
      }
      total += itemCost;
      batch.push(each);
    }
    this.#queue.splice(0, seen, ...overtaken);
    this.#refuseLate();
    return batch;
  }

  /** Refuses those that have waited too long and that the batch has no room for, oldest first. */
  #refuseLate(): void {
    const { burstMs, waitMs, guaranteedItems, lateMs } = this.#limits;
    const now = performance.now();
    const maxMs = now - this.#lastEmptyMs > burstMs ? waitMs : burstMs;
    const excess = this.#queue.length - guaranteedItems;
    const isLate = ({ sinceMs }: Waiting<Item, Outcome>, index: number) =>
      now - sinceMs > (index < excess ? maxMs : lateMs);
    // The queue is in the order of arrival, so that the late ones come first.
    const late = this.#queue.filter(isLate);
    for (const { itemSize, reject } of this.#queue.splice(0, late.length)) {
      this.#queuedSize -= itemSize;
      reject(QUEUE_FULL);
    }
  }
}
