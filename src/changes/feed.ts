// Tells followers of the log when there is something new; looks only while somebody follows.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitWithin } from '../bounded-wait.ts';
import { Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import {
  type Changes,
  type ChangesRequest,
  type Cursor,
  cursorAt,
  cursorText,
  lastCursor,
  ownSelection,
  readChanges,
} from './changes.ts';

/** How many waiting clients are woken before other requests are answered. */
const WOKEN_AT_ONCE = 32;

/** The times of a feed; tests change them. */
export const FEED_TIMES = {
  /** How often to look for commits of others; with a query where only that can tell. */
  lookMs: 100,
  queryMs: 400,
  roundMs: 10,
};

/** The changes of a database, for all who follow them. */
export class ChangeFeed {
  readonly #database: Database;
  /** Reads once for all who ask the same at the same time. */
  readonly #reads: Batcher<ChangesRequest, Changes | undefined>;
  readonly #waiting = new Set<() => void>();
  #roundBeganMs = 0;
  #nextRound: NodeJS.Timeout | undefined;
  #seen: string | undefined;
  #lookedMs = 0;
  #nextLook: NodeJS.Timeout | undefined;
  /** What requests select; set before the first read. */
  selects = ownSelection;
  isClosed = false;
  round = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#reads = new Batcher({
      run: (requests) => {
        const reads = new Map<string, Promise<Changes | undefined>>();
        const results = requests.map((each) => {
          const key = JSON.stringify(each);
          const read = reads.get(key) ?? readChanges(database, each, this.selects);
          reads.set(key, read);
          return read;
        });
        return Promise.all(results);
      },
      concurrency: 2,
    });
  }

  lastCursor(): Promise<Cursor> {
    return lastCursor(this.#database);
  }

  /** Resolves with the cursor before the first change at a time or later, if all since are kept. */
  cursorAt(ms: number): Promise<Cursor | undefined> {
    return cursorAt(this.#database, ms);
  }

  read(request: ChangesRequest): Promise<Changes | undefined> {
    return this.#reads.submit(request);
  }

  /** Resolves when another round has begun, after `ms`, or when the signal aborts. */
  async wait(round: number, ms: number, signal: AbortSignal): Promise<void> {
    if (round !== this.round || this.isClosed) return;
    const ended = waitWithin<void>({ ms, late: () => undefined, signal }, (resolve) => {
      this.#waiting.add(resolve);
      this.#scheduleLook();
      return () => this.#waiting.delete(resolve);
    });
    await ended.catch(() => {});
  }

  /** Begins a round as soon as it may: when something was written, or a key may be over. */
  readonly beginRoundSoon = (): void => {
    if (this.#nextRound !== undefined || this.isClosed) return;
    const leftMs = this.#roundBeganMs + FEED_TIMES.roundMs - performance.now();
    if (leftMs <= 0) this.#beginRound();
    else this.#nextRound = setTimeout(() => this.#beginRound(), leftMs);
  };

  close(): void {
    this.isClosed = true;
    clearTimeout(this.#nextLook);
    this.#beginRound();
  }

  #beginRound(): void {
    clearTimeout(this.#nextRound);
    this.#nextRound = undefined;
    this.#roundBeganMs = performance.now();
    this.round += 1;
    // All reads of this round see at least this state.
    if (!this.isClosed) this.#seen = this.#database.freshness?.revision() ?? this.#seen;
    void this.#wakeAll();
  }

  async #wakeAll(): Promise<void> {
    for (const [index, end] of [...this.#waiting].entries()) {
      end();
      if ((index + 1) % WOKEN_AT_ONCE === 0) await nextTurn();
    }
  }

  #scheduleLook(): void {
    if (this.#nextLook !== undefined || this.#waiting.size === 0 || this.isClosed) return;
    const everyMs = this.#database.freshness ? FEED_TIMES.lookMs : FEED_TIMES.queryMs;
    const leftMs = this.#lookedMs + everyMs - performance.now();
    this.#nextLook = setTimeout(() => void this.#look(), Math.max(0, leftMs));
  }

  async #look(): Promise<void> {
    const { freshness } = this.#database;
    const state = freshness
      ? freshness.revision()
      : await this.lastCursor().then(cursorText, () => undefined);
    this.#nextLook = undefined;
    this.#lookedMs = performance.now();
    if (state !== undefined && state !== this.#seen) {
      this.#seen = state;
      this.beginRoundSoon();
    }
    this.#scheduleLook();
  }
}
