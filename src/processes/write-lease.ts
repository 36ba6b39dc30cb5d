// The right to write to the file, as one process has it. SQLite's lock would also keep writes
// apart, but a process that finds it held polls, and whoever polls first gets it. A lease is
// granted in the order of the requests.

/** Where leases come from. */
export interface LeaseClient {
  /** Resolves when the lease is granted, with whether others wait already. */
  acquire(): Promise<boolean>;
  release(): void;
}

/**
 * The lease of one process. It is kept while no other process wants it, so that a lone writer need
 * not ask each time.
 */
export class WriteLease {
  readonly #client: LeaseClient;
  #state: 'none' | 'requested' | 'held' | 'in use' = 'none';
  #isWanted = false;

  constructor(client: LeaseClient) {
    this.#client = client;
  }

  /**
   * Resolves when this process holds the lease; it does so at least until the end of this turn of
   * the event loop.
   */
  async acquire(): Promise<void> {
    if (this.#state !== 'none') return;
    this.#state = 'requested';
    const othersWait = await this.#client.acquire();
    // `wanted` may have been called before this await resumes.
    this.#isWanted ||= othersWait;
    this.#state = 'held';
    // Give it back if nothing uses it in this turn.
    setImmediate(() => this.#releaseIfWanted());
  }

  /**
   * Runs `work` under the lease; resolves or rejects as `work` does. Call it for one piece of work
   * at a time.
   */
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

  /** Call it when another process waits for the lease. */
  wanted(): void {
    // The lease may have been released while the message was on its way.
    if (this.#state === 'none') return;
    this.#isWanted = true;
    this.#releaseIfWanted();
  }

  #releaseIfWanted(): void {
    if (this.#state !== 'held' || !this.#isWanted) return;
    this.#state = 'none';
    this.#isWanted = false;
    this.#client.release();
  }
}
