// Finds which of many holders of places, such as connections, can be spared for others.

interface Holder {
  readonly network: string;
  readonly isIdle: boolean;
  readonly idleSinceMs: number;
}

/** An idle holder, and how many of its network are busy or would be taken after it. */
interface Found<Each> {
  readonly holder: Each;
  readonly sinceMs: number;
  readonly rank: number;
}

/** How many holders one look at all of them finds. */
const MAX_FOUND = 1_000;

/** In place of the time since when a busy holder is idle: it counts, but is never taken. */
const BUSY = Number.MAX_VALUE;

/** The pause after a look at all holders, as a multiple of its time. */
const REST = 20;

/** The idle holders among many, in the order in which they can be spared. */
export class Replaceable<Each extends Holder> {
  readonly #holders: ReadonlyMap<unknown, Each>;
  /** The last one is the next to take, unless it has been busy since. */
  #found: Found<Each>[] = [];
  #nextLookMs = 0;

  constructor(holders: ReadonlyMap<unknown, Each>) {
    this.#holders = holders;
  }

  /** Returns the one that has been idle for longest, of the network that has most. */
  take(): Each | undefined {
    while (this.#found.length > 0 || this.#look()) {
      const next = this.#found.pop();
      if (next?.holder.isIdle && next.holder.idleSinceMs === next.sinceMs) return next.holder;
    }
    return undefined;
  }

  /** Finds those that would be taken one after the other; returns whether there are any. */
  #look(): boolean {
    const startMs = performance.now();
    if (startMs < this.#nextLookMs) return false;
    const ranks = new Map<string, number>();
    this.#found = [...this.#holders.values()]
      .map((holder) => ({ holder, sinceMs: holder.isIdle ? holder.idleSinceMs : BUSY }))
      .sort((one, other) => other.sinceMs - one.sinceMs)
      .map(({ holder, sinceMs }) => {
        const rank = ranks.get(holder.network) ?? 0;
        ranks.set(holder.network, rank + 1);
        return { holder, sinceMs, rank };
      })
      .filter(({ sinceMs }) => sinceMs !== BUSY)
      .sort((one, other) => one.rank - other.rank || other.sinceMs - one.sinceMs)
      .slice(-MAX_FOUND);
    const endMs = performance.now();
    this.#nextLookMs = endMs + REST * (endMs - startMs);
    return this.#found.length > 0;
  }
}
