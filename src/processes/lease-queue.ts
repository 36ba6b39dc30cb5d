// The queue for the right to write: one process holds the lease, the others wait in the order in
// which they asked.

/** How the queue speaks to the holder of the lease. */
export interface LeaseMessages<Holder> {
  /** Tells `holder` that another process wants the lease. */
  readonly notify: (holder: Holder) => void;
  /** Does the same, and resolves when `holder` has received it. */
  readonly reach: (holder: Holder) => Promise<unknown>;
}

/**
 * How long a lease may last while others wait before its holder is asked whether it still responds,
 * and how long it has to respond.
 */
const OVERDUE_MS = 1_000;

/**
 * Grants the lease to one holder at a time. A holder keeps it as long as it needs, unless it does
 * not respond: then the next one gets it, and SQLite's lock keeps the two apart.
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

  /** Resolves when `holder` has the lease, with whether others wait already. */
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
    const onReached = () => {
      if (this.#current !== holder) return;
      clearTimeout(this.#timer);
      this.#watch(holder);
    };
    this.#messages.reach(holder).then(onReached, () => {});
  }
}
