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
  /**
   * Runs one batch; resolves with the outcome of each item, in order. If it rejects, nothing was
   * done.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Awaited before a batch is formed: what arrives meanwhile joins the batch. Default: nothing. */
  readonly ready?: (() => Promise<void>) | undefined;
  /** What an item adds to the size of its batch. Default: nothing. */
  readonly size?: (item: Item) => number;
  /**
   * Called with each item of a batch; an item for which it throws is left out and rejects with that
   * error.
   */
  readonly check?: (item: Item) => void;
  /** How many batches may run at a time. Default: one, so that items keep their order. */
  readonly lanes?: number;
  /** Whether the engine runs on another core than the event loop. Default: whether there is one. */
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

/** A shared instance: capturing a stack trace for each refusal costs more than a read. */
const QUEUE_FULL = new QueueFull('the queue of waiting calls is full');

/** Runs items in batches, each of the items that have waited longest. */
export class Batcher<Item, Outcome> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  readonly #ready: (() => Promise<void>) | undefined;
  readonly #size: (item: Item) => number;
  readonly #check: (item: Item) => void;
  readonly #lanes: number;
  readonly #beside: boolean;
  readonly #limits: typeof BATCH_LIMITS;
  readonly #meter: BatchMeter | undefined;
  readonly #backlog: BacklogLimit;
  #queue: Waiting<Item, Outcome>[] = [];
  #queuedSize = 0;
  #busyLanes = 0;
  /** How many items at the head of the queue run one by one, because their batch failed. */
  #alone = 0;

  constructor(options: BatcherOptions<Item, Outcome>) {
    const { run, ready, size, check, lanes, beside, limits, meter } = options;
    this.#run = run;
    this.#ready = ready;
    this.#size = size ?? (() => 0);
    this.#check = check ?? (() => {});
    this.#lanes = lanes ?? 1;
    this.#beside = beside ?? availableParallelism() > 1;
    this.#limits = limits ?? BATCH_LIMITS;
    this.#meter = meter;
    this.#backlog = new BacklogLimit(this.#limits);
    meter?.watch(() => this.#queue.length);
  }

  /**
   * Runs an item and resolves with its outcome. A batch that fails is run again item by item, so
   * that an item rejects with its own error only. Rejects with {@link QueueFull}, and with {@link
   * DatabaseUnavailable} if a batch ahead found the database unavailable.
   */
  submit(item: Item): Promise<Outcome> {
    const itemSize = this.#size(item);
    if (this.#backlog.isFull(this.#queue.length, this.#queuedSize, itemSize))
      return Promise.reject(QUEUE_FULL);
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, itemSize, resolve, reject });
      this.#queuedSize += itemSize;
      if (this.#busyLanes === this.#lanes) return;
      this.#busyLanes += 1;
      // After all available input has been read, so that calls which arrived together share a
      // batch.
      setImmediate(() => this.#work());
    });
  }

  /** Works as one lane until the queue is empty. */
  async #work(): Promise<void> {
    let startMs = performance.now();
    while (this.#queue.length > 0) {
      if (this.#ready) await this.#ready();
      const batch = this.#nextBatch().filter((each) => this.#isWanted(each));
      if (batch.length === 0) continue;
      try {
        const started = performance.now();
        const outcomes = await this.#run(batch.map(({ item }) => item));
        this.#meter?.done(batch.length, performance.now() - started);
        this.#backlog.measure(startMs, batch.length);
        batch.forEach(({ resolve }, index) => void resolve(outcomes[index] as Outcome));
      } catch (error) {
        startMs = performance.now();
        this.#fail(batch, error);
      }
      // On a single core, let the answers go out first: those who get them ask again, and a larger
      // batch costs less.
      if (!this.#beside && batch.length > 1) await nextTurn().then(() => nextTurn());
    }
    this.#busyLanes -= 1;
  }

  #fail(batch: readonly Waiting<Item, Outcome>[], error: unknown): void {
    if (error instanceof DatabaseUnavailable) {
      rejectAll(batch, error);
      // Those behind would only find out later, one batch after the other.
      rejectAll(this.#takeAll(), asUnavailable(error));
    } else if (batch.length === 1) {
      rejectAll(batch, error);
    } else {
      this.#putBack(batch);
    }
  }

  #nextBatch(): Waiting<Item, Outcome>[] {
    const { batchItems, batchSize } = this.#limits;
    const maxItems = this.#alone > 0 ? 1 : batchItems;
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
    if (this.#alone > 0) this.#alone -= 1;
    return batch;
  }

  #isWanted({ item, reject }: Waiting<Item, Outcome>): boolean {
    try {
      this.#check(item);
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  }

  #putBack(batch: readonly Waiting<Item, Outcome>[]): void {
    this.#queue = [...batch, ...this.#queue];
    this.#queuedSize += batch.reduce((sum, { itemSize }) => sum + itemSize, 0);
    this.#alone += batch.length;
  }

  #takeAll(): Waiting<Item, Outcome>[] {
    const all = this.#queue;
    this.#queue = [];
    this.#queuedSize = 0;
    this.#alone = 0;
    return all;
  }
}

/** Returns the error for items that had not begun: about them nothing is uncertain. */
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
