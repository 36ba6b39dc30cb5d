// The write lease: of several processes, only its holder writes. SQLite's lock also excludes
// concurrent writers, but a process that waits for it polls, and may starve.

/** How long a holder may keep the lease while others wait. */
const OVERDUE_MS = 2_000;

/** The queue for the lease. A holder loses it if overdue; SQLite's own lock separates the two. */
export class LeaseQueue<Holder> {
  readonly #notify: (holder: Holder) => void;
  #waiting: { readonly holder: Holder; readonly grant: () => void }[] = [];
  #current: Holder | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(notify: (holder: Holder) => void) {
    this.#notify = notify;
  }

  acquire(holder: Holder): Promise<void> {
    return new Promise((grant) => {
      this.#waiting.push({ holder, grant });
      if (this.#current === undefined) this.#grantNext();
      else if (this.#waiting.length === 1) this.#wantBack(this.#current);
    });
  }

  /** Ends the lease or the waiting of `holder`. */
  release(holder: Holder): void {
    this.#waiting = this.#waiting.filter((each) => each.holder !== holder);
    if (this.#current === holder) this.#grantNext();
  }

  #grantNext(): void {
    clearTimeout(this.#timer);
    const next = this.#waiting.shift();
    this.#current = next?.holder;
    next?.grant();
    if (next && this.#waiting.length > 0) this.#wantBack(next.holder);
  }

  #wantBack(holder: Holder): void {
    this.#notify(holder);
    this.#timer = setTimeout(() => this.#grantNext(), OVERDUE_MS).unref();
  }
}

/** The lease as one process holds it. It is kept until another one wants it, to save requests. */
export class WriteLease {
  readonly #acquire: () => Promise<void>;
  readonly #release: () => void;
  #state: 'none' | 'requested' | 'held' | 'in use' = 'none';
  #isWanted = false;
  #granted: Promise<void> = Promise.resolve();

  constructor(acquire: () => Promise<void>, release: () => void) {
    this.#acquire = acquire;
    this.#release = release;
  }

  /** Resolves when this process holds the lease. Use it at once: the next event may release it. */
  acquire(): Promise<void> {
    if (this.#state === 'none') this.#granted = this.#request();
    return this.#granted;
  }

  /** Runs `work` under the lease and settles as it does. Calls must not overlap. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    this.#state = 'in use';
    try {
      return await work();
    } finally {
      this.#state = 'held';
      this.#releaseIfWanted();
    }
  }

  /** Call it when others wait for the lease, even before this process knows that it has it. */
  releaseWhenIdle(): void {
    // The lease may have been released while the message was on its way.
    if (this.#state === 'none') return;
    this.#isWanted = true;
    this.#releaseIfWanted();
  }

  async #request(): Promise<void> {
    this.#state = 'requested';
    await this.#acquire().catch((error) => {
      this.#state = 'none';
      throw error;
    });
    this.#state = 'held';
    // If nothing uses it in this iteration, release it to a process that waits.
    setImmediate(() => this.#releaseIfWanted());
  }

  #releaseIfWanted(): void {
    if (this.#state !== 'held' || !this.#isWanted) return;
    this.#state = 'none';
    this.#isWanted = false;
    this.#release();
  }
}
