// Calls that arrive while a batch is running form the next batch. There are no timers: an idle
// service answers at once, and batches grow only with load.
import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BATCH_LIMITS, BacklogLimit } from './backlog-limit.ts';
import { DatabaseUnavailable, DatabaseUncertain } from './database.ts';

/** The queue of a batcher has no room. Nothing is wrong with what runs the batches. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

/** Observes the batches of one kind. */
export interface BatchMeter {
  /** Called once by each batcher, with a function that returns how many items wait. */
  watch(waiting: () => number): void;
  /** Called after each batch. */
  done(items: number, milliseconds: number): void;
}

/** What a batcher depends on. */
export interface BatcherOptions<Item, Outcome> {
  /** Runs a batch; resolves with the outcomes in order. If it rejects, nothing was done. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Awaited before a batch is formed; items that arrive meanwhile join it. */
  readonly ready?: (() => Promise<void>) | undefined;
  /** Returns what an item adds to the size of its batch. Default: 0. */
  readonly size?: (item: Item) => number;
  /** Called with each item of a batch. If it throws, the item is left out and rejects. */
  readonly check?: (item: Item) => void;
  /** How many batches may run at a time. Default: 1, which keeps the order of the items. */
  readonly lanes?: number;
  /** Whether batches and the event loop run on different cores. Default: if there are several. */
  readonly isParallel?: boolean;
  readonly limits?: typeof BATCH_LIMITS;
  readonly meter?: BatchMeter | undefined;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly itemSize: number;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A shared instance, because capturing a stack trace costs more than a read. */
const QUEUE_FULL = new QueueFull('the queue of waiting calls is full');

const DEFAULTS = {
  size: () => 0,
  check: () => {},
  lanes: 1,
  isParallel: availableParallelism() > 1,
  limits: BATCH_LIMITS,
};

type CompleteOptions<Item, Outcome> = BatcherOptions<Item, Outcome> &
  Required<Pick<BatcherOptions<Item, Outcome>, keyof typeof DEFAULTS>>;

/** Runs items in batches, oldest first. */
export class Batcher<Item, Outcome> {
  readonly #options: CompleteOptions<Item, Outcome>;
  readonly #backlog: BacklogLimit;
  #queue: Waiting<Item, Outcome>[] = [];
  #queuedSize = 0;
  #busyLanes = 0;
  /** How many items at the head of the queue run one by one, because their batch failed. */
  #retries = 0;

  constructor(options: BatcherOptions<Item, Outcome>) {
    this.#options = { ...DEFAULTS, ...options };
    this.#backlog = new BacklogLimit(this.#options.limits);
    options.meter?.watch(() => this.#queue.length);
  }

  /**
   * Runs an item and resolves with its outcome. A batch that fails is run again item by item, so
   * that each item rejects with its own error only. Rejects with {@link QueueFull}, and with
   * {@link DatabaseUnavailable} if an earlier batch found the database unavailable.
   */
  submit(item: Item): Promise<Outcome> {
    const itemSize = this.#options.size(item);
    if (!this.#backlog.admit(this.#queue.length, this.#queuedSize, itemSize))
      return Promise.reject(QUEUE_FULL);
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, itemSize, resolve, reject });
      this.#queuedSize += itemSize;
      if (this.#busyLanes === this.#options.lanes) return;
      this.#busyLanes += 1;
      // Wait until all available input has been read: calls that arrived together share a batch.
      setImmediate(() => this.#work());
    });
  }

  /** Works as one lane until the queue is empty. */
  async #work(): Promise<void> {
    const { run, ready, isParallel, meter } = this.#options;
    let busySinceMs = performance.now();
    while (this.#queue.length > 0) {
      if (ready) await ready();
      const batch = this.#nextBatch().filter((each) => this.#isWanted(each));
      if (batch.length === 0) continue;
      try {
        const started = performance.now();
        const outcomes = await run(batch.map(({ item }) => item));
        meter?.done(batch.length, performance.now() - started);
        this.#backlog.recordBatch(busySinceMs, batch.length);
        batch.forEach(({ resolve }, index) => void resolve(outcomes[index] as Outcome));
      } catch (error) {
        busySinceMs = performance.now();
        this.#fail(batch, error);
      }
      // On a single core, let the answers go out first: their clients send the next requests, which
      // join a larger batch.
      if (!isParallel && batch.length > 1) await nextTurn().then(() => nextTurn());
    }
    this.#busyLanes -= 1;
  }

  #fail(batch: readonly Waiting<Item, Outcome>[], error: unknown): void {
    if (error instanceof DatabaseUnavailable) {
      rejectAll(batch, error);
      // All others would fail in the same way, one batch after the other.
      rejectAll(this.#takeAll(), asUnavailable(error));
    } else if (batch.length === 1) {
      rejectAll(batch, error);
    } else {
      this.#putBack(batch);
    }
  }

  #nextBatch(): Waiting<Item, Outcome>[] {
    const { batchItems, batchSize } = this.#options.limits;
    const maxItems = this.#retries > 0 ? 1 : batchItems;
    let count = 0;
    let size = 0;
    for (const { itemSize } of this.#queue) {
      if (count > 0 && (count === maxItems || size + itemSize > batchSize)) break;
      count += 1;
      size += itemSize;
    }
    const batch = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    this.#queuedSize -= size;
    if (this.#retries > 0) this.#retries -= 1;
    return batch;
  }

  #isWanted({ item, reject }: Waiting<Item, Outcome>): boolean {
    try {
      this.#options.check(item);
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  }

  #putBack(batch: readonly Waiting<Item, Outcome>[]): void {
    this.#queue = [...batch, ...this.#queue];
    this.#queuedSize += batch.reduce((sum, { itemSize }) => sum + itemSize, 0);
    this.#retries += batch.length;
  }

  #takeAll(): Waiting<Item, Outcome>[] {
    const all = this.#queue;
    this.#queue = [];
    this.#queuedSize = 0;
    this.#retries = 0;
    return all;
  }
}

/** Returns the error for items that had not begun, whose outcome is certain. */
function asUnavailable(error: DatabaseUnavailable): DatabaseUnavailable {
  return error instanceof DatabaseUncertain
    ? new DatabaseUnavailable(error.message, { cause: error })
    : error;
}

function rejectAll(
  failed: readonly { readonly reject: (error: unknown) => void }[],
  error: unknown,
): void {
  for (const { reject } of failed) reject(error);
}
