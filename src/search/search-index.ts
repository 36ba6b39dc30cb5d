// The search index of a resource, which follows the log of changes: before a search is answered,
// and in the background. The log is the queue, so writes cost no more, and a kill loses nothing.
//
//            a write             its time, a search
//   idle ---------------> due ----------------------> working
//    ^                     '<------- a pause ----------'  |
//    '<------------------- up to date --------------------'
// The end of the service closes it in each state.
import { Batcher } from '../storage/batcher.ts';
import { type Database, StorageError } from '../storage/database.ts';
import type { Commit, CommitObserver, Write } from '../storage/writer.ts';
import {
  createStepKind,
  createStepReader,
  type IndexState,
  isCurrent,
  type PreparedStep,
  type Searchable,
  stateOf,
  stateSql,
} from './steps.ts';

/** The search index is so far behind that a search would wait too long. */
export class IndexBehind extends StorageError {
  /** In how many seconds the index will probably have caught up. */
  readonly retryAfterS: number;

  constructor(ms: number) {
    super('the search index is catching up');
    this.retryAfterS = Math.max(1, Math.min(Math.ceil(ms / 1_000), MAX_RETRY_S));
  }
}

/** Estimates of longer times are too rough. */
const MAX_RETRY_S = 60;

/** The times of an index; tests change them. */
export const INDEX_TIMES = {
  /** The longest time that a search waits, if a single step does not take longer. */
  maxWaitMs: 1_000,
  /** How long after a write, or after an error, the background begins to index. */
  delayMs: 1_000,
  /** While others write, the background pauses this many times as long as it has worked. */
  pauseFactor: 49,
};

/** The time for a byte of a step's size, until a full step has been measured. */
const ASSUMED_MS_PER_BYTE = 0.000_2;

interface Waiting {
  readonly number: number;
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The index of one resource. It must observe `write`. */
export class SearchIndex implements CommitObserver {
  readonly #write: Write;
  readonly #kind: ReturnType<typeof createStepKind>;
  readonly #prepare: ReturnType<typeof createStepReader>;
  /** One read serves all searches that arrived during the one before. */
  readonly #states: Batcher<undefined, IndexState & { readonly backlog: number }>;
  readonly #waiting = new Set<Waiting>();
  #work: Promise<void> = Promise.resolve();
  /** The step after the one that is being written. */
  #ahead: Promise<PreparedStep | undefined> | undefined;
  #state: 'idle' | 'due' | 'working' | 'closed' = 'idle';
  /** Whether a search has been rejected because of the backlog. */
  #isWanted = false;
  #writes = 0;
  #msPerByte = ASSUMED_MS_PER_BYTE;
  /** The size of what must still be indexed, by the last estimate. */
  #backlog = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Schedules the work that is left from the last run. The writes of the index go to `write`. */
  constructor(resource: Searchable, database: Database, write: Write) {
    this.#write = write;
    this.#kind = createStepKind(resource);
    this.#prepare = createStepReader(resource, database);
    const sql = stateSql(resource);
    this.#states = new Batcher({
      async run(calls) {
        const [row] = await database.read({ sql });
        if (!row) throw new Error('the search index has no position');
        const state = { ...stateOf(row), backlog: Number(row.backlog) };
        return calls.map(() => state);
      },
    });
    this.#schedule(INDEX_TIMES.delayMs);
  }

  /** Resolves when all changes before the call are indexed; rejects with {@link IndexBehind}. */
  async catchUp(): Promise<void> {
    const state = await this.#states.submit(undefined);
    if (isCurrent(state)) return;
    this.#backlog = state.backlog;
    if (this.#backlogMs > INDEX_TIMES.maxWaitMs) {
      this.#isWanted = true;
      this.#start();
      throw new IndexBehind(this.#backlogMs);
    }
    await new Promise<void>((resolve, reject) => {
      this.#waiting.add({ number: state.last, since: performance.now(), resolve, reject });
      this.#start();
    });
  }

  /** Lets the background index what a transaction has written. */
  end({ runs }: Commit): void {
    if (runs.every(({ kind }) => kind === this.#kind)) return;
    this.#writes += 1;
    this.#schedule(INDEX_TIMES.delayMs);
  }

  /** Resolves when the work has ended; no write follows. Searches that wait are rejected. */
  async close(): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    await this.#work;
    await this.#ahead;
  }

  #schedule(ms: number): void {
    if (this.#state !== 'idle') return;
    this.#state = 'due';
    this.#timer = setTimeout(() => this.#start(), ms).unref();
  }

  #start(): void {
    if (this.#state === 'working') return;
    clearTimeout(this.#timer);
    if (this.#state !== 'closed') this.#state = 'working';
    this.#work = this.#catchUpInSteps();
  }

  get #backlogMs(): number {
    return this.#backlog * this.#msPerByte;
  }

  get #isUrgent(): boolean {
    return this.#isWanted || this.#waiting.size > 0;
  }

  /** Takes steps until the index is up to date, or until the next pause. Never rejects. */
  async #catchUpInSteps(): Promise<void> {
    let pauseMs: number | undefined = 0;
    try {
      while (this.#state === 'working' && (pauseMs === 0 || this.#isUrgent))
        pauseMs = await this.#proceed();
    } catch (error) {
      this.#reject(error);
      pauseMs = INDEX_TIMES.delayMs;
    }
    if (this.#state === 'closed') return this.#reject(new IndexBehind(this.#backlogMs));
    this.#state = 'idle';
    if (pauseMs !== undefined) this.#schedule(pauseMs);
  }

  /** Takes a step; resolves with the pause before the next one, undefined if none is needed. */
  async #proceed(): Promise<number | undefined> {
    const writes = this.#writes;
    const started = performance.now();
    const ahead = await this.#ahead;
    this.#ahead = undefined;
    const { state, step, size, isFull } = ahead?.step ? ahead : await this.#prepare();
    if (!step) {
      this.#settleUpTo(state.number);
      this.#isWanted = false;
      return this.#writes > writes ? INDEX_TIMES.delayMs : undefined;
    }
    const writing = this.#write(this.#kind, 0, step);
    // The next step is prepared during the write; it has no effect if this one has none.
    if (isFull && this.#isUrgent) this.#ahead = this.#prepare(step.to).catch(() => undefined);
    const hasMoved = await writing;
    const workedMs = performance.now() - started;
    if (hasMoved) {
      this.#backlog = Math.max(0, this.#backlog - size);
      // Small steps take longer for each byte.
      if (isFull) this.#msPerByte = workedMs / size;
      if (step.to.id === null) this.#settleUpTo(step.to.number);
    }
    // The estimate that admitted them was wrong.
    const latest = performance.now() - INDEX_TIMES.maxWaitMs;
    this.#isWanted ||= [...this.#waiting].some(({ since }) => since < latest);
    this.#reject(new IndexBehind(this.#backlogMs), latest);
    // Another process is at work, which may end before the index is up to date.
    if (!hasMoved) return INDEX_TIMES.delayMs;
    return this.#writes > writes ? INDEX_TIMES.pauseFactor * workedMs : 0;
  }

  #settleUpTo(number: number): void {
    for (const each of this.#waiting)
      if (each.number <= number && this.#waiting.delete(each)) each.resolve();
  }

  /** Rejects the searches that began to wait before a time of `performance.now`. */
  #reject(error: unknown, before = Number.POSITIVE_INFINITY): void {
    for (const each of this.#waiting)
      if (each.since < before && this.#waiting.delete(each)) each.reject(error);
  }
}
