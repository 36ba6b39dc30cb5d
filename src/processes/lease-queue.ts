// The queue for the write lease: one process holds the lease, the others wait in the order of their
// requests.

/** The messages of the queue to the holder of the lease. */
export interface LeaseMessages<Holder> {
  /** Tells `holder` that another process wants the lease. */
  readonly notify: (holder: Holder) => void;
  /** Does the same; resolves when `holder` has responded. */
  readonly probe: (holder: Holder) => Promise<unknown>;
}

/** While others wait, a holder is probed after this time, and must respond within as long again. */
const OVERDUE_MS = 1_000;

/**
 * Grants the lease to one holder at a time. A holder keeps it as long as it needs, but if it does
 * not respond, the next one gets the lease, and SQLite's own lock separates the two.
 */
export class LeaseQueue<Holder> {
  readonly #messages: LeaseMessages<Holder>;
  readonly #overdueMs: number;
  #waiting: { readonly holder: Holder; readonly grant: (othersWait: boolean) => void }[] = [];
  #current: Holder | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(messages: LeaseMessages<Holder>, overdueMs = OVERDUE_MS) {
    this.#messages = messages;
    this.#overdueMs = overdueMs;
  }

  /** Resolves when `holder` has the lease; the result says whether others wait for it. */
  acquire(holder: Holder): Promise<boolean> {
    return new Promise((grant) => {
      this.#waiting.push({ holder, grant });
      if (this.#current === undefined) {
        this.#grantNext();
      } else if (this.#waiting.length === 1) {
        this.#messages.notify(this.#current);
        this.#watch(this.#current);
      }
    });
  }

  /** Releases the lease of `holder`, or removes it from the queue. */
  release(holder: Holder): void {
    this.#waiting = this.#waiting.filter((each) => each.holder !== holder);
    if (this.#current === holder) this.#grantNext();
  }

  #grantNext(): void {
    clearTimeout(this.#timer);
    const next = this.#waiting.shift();
    this.#current = next?.holder;
    if (!next) return;
    const othersWait = this.#waiting.length > 0;
    next.grant(othersWait);
    if (othersWait) this.#watch(next.holder);
  }

  #watch(holder: Holder): void {
    this.#timer = setTimeout(() => this.#checkHolder(holder), this.#overdueMs).unref();
  }

  #checkHolder(holder: Holder): void {
    this.#timer = setTimeout(() => this.#grantNext(), this.#overdueMs).unref();
    const onResponse = () => {
      if (this.#current !== holder) return;
      clearTimeout(this.#timer);
      this.#watch(holder);
    };
    this.#messages.probe(holder).then(onResponse, () => {});
  }
}
