// The search index of a resource, which follows the log of changes: before a search is answered,
// and in the background. The log is the queue, so writes cost no more, and a kill loses nothing.
//
//   pause <──── nothing left: all searches end <────┐
//     │                                             │
//     └─ a write, a search ──> read the next step ──┴──> write it ──┐
//                                     ^                             │
//                                     └── a pause if others write ──┘
import { type Work, workInBackground } from '../background.ts';
import { type Database, StorageError } from '../storage/database.ts';
import type { Commit, CommitObserver, Write } from '../storage/writer.ts';
import {
  createStepKind,
  createStepReader,
  type IndexPosition,
  type PreparedStep,
  type Searchable,
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
  /** How long after a write, at most, or after an error the background begins to index. */
  delayMs: 1_000,
  /** While others write, the background pauses this many times as long as it has worked. */
  pauseFactor: 49,
};

/** The time for a byte of a step's size, until a full step has been measured. */
const ASSUMED_MS_PER_BYTE = 0.000_2;

interface Waiting {
  readonly end: (error: unknown) => void;
  /** The number of the last change that it must find, and when a read told; infinite before. */
  number: number;
  sinceMs: number;
}

/** The index of one resource. It must observe `write`. */
export class SearchIndex implements CommitObserver {
  readonly #write: Write;
  readonly #kind: ReturnType<typeof createStepKind>;
  readonly #readStep: ReturnType<typeof createStepReader>;
  readonly #work: Work;
  readonly #waiting = new Set<Waiting>();
  /** The step after the last one; undefined if it could not be read. */
  #ahead: Promise<PreparedStep | undefined> | undefined;
  /** Whether something was written since the last step began, or may be left to index. */
  #isBehind = true;
  /** Whether a search has been rejected because of the backlog. */
  #isWanted = false;
  #msPerByte = ASSUMED_MS_PER_BYTE;

  /** Begins the work that is left from the last run. The writes of the index go to `write`. */
  constructor(resource: Searchable, database: Database, write: Write) {
    this.#write = write;
    this.#kind = createStepKind(resource);
    this.#readStep = createStepReader(resource, database);
    const { delayMs } = INDEX_TIMES;
    const times = { firstPauseMs: delayMs, failedPauseMs: delayMs };
    this.#work = workInBackground('index', {}, times, () => this.#proceed());
  }

  /** Resolves when all changes before the call are indexed; rejects with {@link IndexBehind}. */
  catchUp(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error: unknown) => (error === undefined ? resolve() : reject(error));
      const unknown = Number.POSITIVE_INFINITY;
      this.#waiting.add({ end, number: unknown, sinceMs: unknown });
      this.#work.wake();
    });
  }

  /** Lets the background index what a transaction has written. */
  end({ runs }: Commit): void {
    this.#isBehind ||= runs.some(({ kind }) => kind !== this.#kind);
  }

  /** Resolves when the work has ended; no write follows. Searches that wait are rejected. */
  async close(): Promise<void> {
    await this.#work.end();
    this.#endWaiting(() => true, new IndexBehind(0));
  }

  /** Proceeds if there is something to do; resolves with the pause before the next time. */
  async #proceed(): Promise<number> {
    if (!this.#isBehind && this.#waiting.size === 0) return INDEX_TIMES.delayMs;
    try {
      const pauseMs = await this.#takeStep();
      return this.#waiting.size > 0 ? 0 : pauseMs;
    } catch (error) {
      this.#isBehind = true;
      this.#endWaiting(() => true, error);
      throw error;
    }
  }

  async #takeStep(): Promise<number> {
    const startedMs = performance.now();
    this.#isBehind = false;
    const ahead = await this.#ahead;
    this.#ahead = undefined;
    // Only a read that begins now can tell that nothing is left.
    const { last, step } = ahead?.step ? ahead : await this.#read();
    if (!step) {
      this.#endWaiting(({ number }) => number <= last);
      this.#isWanted = false;
      return INDEX_TIMES.delayMs;
    }
    const { to, size, isFull } = step;
    this.#rejectLate(step.backlog * this.#msPerByte);
    const writing = this.#write(this.#kind, 0, step);
    // The next step is prepared during the write.
    const next = isFull ? this.#read(to).catch(() => undefined) : undefined;
    const hasMoved = await writing;
    const othersWrite = this.#isBehind;
    this.#isBehind = true;
    // Another process is at work, which may end before the index is up to date.
    if (!hasMoved) return INDEX_TIMES.delayMs;
    this.#ahead = next;
    const workedMs = performance.now() - startedMs;
    // Small steps take longer for each byte.
    if (isFull) this.#msPerByte = workedMs / size;
    if (to.id === null) this.#endWaiting(({ number }) => number <= to.number);
    return othersWrite && !this.#isWanted ? INDEX_TIMES.pauseFactor * workedMs : 0;
  }

  /** Resolves with the next step; tells the searches before it which changes they must find. */
  async #read(from?: IndexPosition): Promise<PreparedStep> {
    const arrived = [...this.#waiting];
    const prepared = await this.#readStep(from);
    const nowMs = performance.now();
    for (const each of arrived) {
      each.number = Math.min(each.number, prepared.last);
      // A read may wait long for the leader of a cluster.
      each.sinceMs = Math.min(each.sinceMs, nowMs);
    }
    return prepared;
  }

  #rejectLate(backlogMs: number): void {
    const latestMs = performance.now() + backlogMs - INDEX_TIMES.maxWaitMs;
    const isLate = ({ sinceMs }: Waiting) => sinceMs < latestMs;
    this.#isWanted ||= [...this.#waiting].some(isLate);
    this.#endWaiting(isLate, new IndexBehind(backlogMs));
  }

  #endWaiting(isMeant: (each: Waiting) => boolean, error?: unknown): void {
    for (const each of this.#waiting)
      if (isMeant(each) && this.#waiting.delete(each)) each.end(error);
  }
}
