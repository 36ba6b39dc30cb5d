// Tells followers of the log when there is something new; looks only while somebody follows.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitWithin } from '../bounded-wait.ts';
import type { Call } from '../http/route.ts';
import { BATCH_LIMITS, Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import {
  type Changes,
  type ChangesRequest,
  type Cursor,
  cursorText,
  findPlace,
  lastCursor,
  ownSelection,
  type Place,
  type PlaceRequest,
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
  readonly #plain: Batcher<ChangesRequest, Changes | undefined>;
  /** Those with records, or of a part of the changes. */
  readonly #costly: Batcher<ChangesRequest, Changes | undefined>;
  readonly #places: Batcher<PlaceRequest, Place | undefined>;
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
    const read = (request: ChangesRequest) => readChanges(database, request, this.selects);
    this.#plain = batcherOf(read);
    this.#costly = batcherOf(read);
    this.#places = batcherOf((request: PlaceRequest) => findPlace(database, request));
  }

  lastCursor(): Promise<Cursor> {
    return lastCursor(this.#database);
  }

  /** Resolves with the cursor before the first change at a time or later, if all since are kept. */
  async cursorAt(ms: number, call?: Pick<Call, 'ensureSendable'>): Promise<Cursor | undefined> {
    let place: Place | undefined = await this.#places.submit({ ms });
    while (place && !('cursor' in place)) {
      call?.ensureSendable();
      place = await this.#places.submit({ ms, after: place.after });
    }
    return place?.cursor;
  }

  read(request: ChangesRequest): Promise<Changes | undefined> {
    const { withRecords, types, parameters } = request;
    const isCostly = withRecords || types?.length || parameters?.tag;
    return (isCostly ? this.#costly : this.#plain).submit(request);
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

/** Returns a batcher that reads once for all who ask the same at the same time. */
function batcherOf<Request, Answer>(
  read: (request: Request) => Promise<Answer>,
): Batcher<Request, Answer> {
  return new Batcher({
    // One after the other, so that the reads of others need not wait for all of them.
    async run(requests) {
      const answers = new Map<string, Answer>();
      const keys = requests.map((request) => JSON.stringify(request));
      for (const [index, request] of requests.entries()) {
        const key = keys[index] ?? '';
        if (!answers.has(key)) answers.set(key, await read(request));
      }
      return keys.map((key) => answers.get(key) as Answer);
    },
    limits: { ...BATCH_LIMITS, batchItems: 2_048 },
  });
}
