// The queue of reads that may take long, of which one runs at a time. Clients take turns.
import { waitWithin } from '../bounded-wait.ts';
import type { Call } from '../http/route.ts';
import { type BatchMeter, QueueFull } from '../storage/batcher.ts';
import { DatabaseUnavailable, ReadTooSlow } from '../storage/database.ts';

export const SLOW_READ_LIMITS = {
  waitMs: 2_000,
  /** How many calls may wait. One client may hold half of them. */
  waiting: 256,
};

interface Waiting {
  readonly client: string;
  /** The calls with the least turn are next. */
  readonly turn: number;
  readonly start: () => void;
  readonly fail: (reason: unknown) => void;
}

/** Shared instances: stack traces are too expensive for an overloaded service. */
const FULL = new QueueFull('too many slow reads wait');
const TOO_LATE = new ReadTooSlow('others took too long');

/** Runs the slow reads of a database one by one. */
export class SlowReads {
  readonly #waiting = new Set<Waiting>();
  #running: Pick<Waiting, 'client' | 'turn'> | undefined;
  /** That of the call that has started last. */
  #turn = 0;
  readonly #meter: BatchMeter | undefined;
  readonly #patienceMs: number | undefined;

  /** `meter` observes each call as a batch; `patienceMs` is that of the database. */
  constructor(meter?: BatchMeter, patienceMs?: number) {
    this.#meter = meter;
    this.#patienceMs = patienceMs;
    meter?.watch(() => this.#waiting.size);
  }

  /** Settles as `work`; rejects if full, by the signal, or if it waits too long. */
  async run<T>(work: () => Promise<T>, call?: Pick<Call, 'clientId' | 'signal'>): Promise<T> {
    const client = call?.clientId() ?? '';
    if (this.#running) await this.#wait(client, call?.signal());
    else this.#running = { client, turn: this.#turn };
    const started = performance.now();
    try {
      return await work();
    } catch (error) {
      // They would fail the same way, one after the other.
      if (error instanceof DatabaseUnavailable) for (const { fail } of this.#waiting) fail(error);
      throw error;
    } finally {
      this.#meter?.done(1, performance.now() - started);
      this.#startNext();
    }
  }

  #wait(client: string, signal: AbortSignal | undefined): Promise<void> {
    const ofClient = [...this.#waiting].filter((each) => each.client === client);
    const { waiting: most, waitMs } = SLOW_READ_LIMITS;
    if (this.#waiting.size >= most || ofClient.length >= most / 2) return Promise.reject(FULL);
    const turn = this.#turnOf(client, ofClient);
    const bounds = { ms: this.#patienceMs ?? waitMs, late: () => TOO_LATE, signal };
    return waitWithin(bounds, (start, fail) => {
      const waiting = { client, turn, start, fail };
      this.#waiting.add(waiting);
      return () => this.#waiting.delete(waiting);
    });
  }

  /** Returns the turn after the client's last one; a client without any is next. */
  #turnOf(client: string, ofClient: readonly Waiting[]): number {
    const last = ofClient.at(-1) ?? this.#running;
    return last?.client === client ? last.turn + 1 : this.#turn;
  }

  #startNext(): void {
    let next: Waiting | undefined;
    for (const each of this.#waiting) if (!next || each.turn < next.turn) next = each;
    // At once, so that no other call can begin before it.
    this.#running = next;
    this.#turn = next?.turn ?? this.#turn;
    next?.start();
  }
}
