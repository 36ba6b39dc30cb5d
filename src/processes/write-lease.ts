// The write lease, as held by one process. SQLite's lock also excludes concurrent writers, but a
// process that waits for it polls, and may starve. Leases are granted in the order of requests.

/** The source of leases. */
export interface LeaseClient {
  /** Resolves when the lease is granted; the result says whether others wait for it. */
  acquire(): Promise<boolean>;
  release(): void;
}

/** The lease of one process. It is kept until another process wants it, to save requests. */
export class WriteLease {
  readonly #client: LeaseClient;
  #state: 'none' | 'requested' | 'held' | 'in use' = 'none';
  #isWanted = false;
  #granted: Promise<void> = Promise.resolve();

  constructor(client: LeaseClient) {
    this.#client = client;
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

  /** Notes that another process waits for the lease. */
  onWanted(): void {
    // The lease may have been released while the message was on its way.
    if (this.#state === 'none') return;
    this.#isWanted = true;
    this.#releaseIfWanted();
  }

  async #request(): Promise<void> {
    this.#state = 'requested';
    const othersWait = await this.#client.acquire().catch((error) => {
      this.#state = 'none';
      throw error;
    });
    // `onWanted` may have been called before this function resumes.
    this.#isWanted ||= othersWait;
    this.#state = 'held';
    // If nothing uses it in this iteration, release it to a process that waits.
    setImmediate(() => this.#releaseIfWanted());
  }

  #releaseIfWanted(): void {
    if (this.#state !== 'held' || !this.#isWanted) return;
    this.#state = 'none';
    this.#isWanted = false;
    this.#client.release();
  }
}
