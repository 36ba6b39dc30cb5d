// What the clients of each key have sent and received, for as long as the service has the key.
import type { Outcome } from '../http/route.ts';
import type { KeyCounts, Snapshot } from './snapshot.ts';

/** Counts requests, refusals and bytes for each key. */
export class KeyUsage {
  readonly #labels: () => readonly string[];
  readonly #usages = new Map<string, KeyCounts>();

  /** `labels` returns those of all present keys. */
  constructor(labels: () => readonly string[]) {
    this.#labels = labels;
  }

  /** Counts a request; the opening of a stream is one, and its end adds what was sent. */
  count({ exchange, stream }: Outcome): void {
    const { key, refusal } = exchange.admission;
    if (!key) return;
    const counts = this.#usages.get(key.label) ?? [0, 0, 0, 0];
    if (counts[0] === 0) this.#usages.set(key.label, counts);
    counts[3] += exchange.sentBytes;
    if (stream === 'ended') return;
    counts[0] += 1;
    counts[1] += refusal ? 1 : 0;
    counts[2] += exchange.bytes.length;
  }

  /** Returns counts of the present keys that were used, and forgets all others. */
  read(): Snapshot['keys'] {
    const present = new Set(this.#labels());
    for (const key of this.#usages.keys()) if (!present.has(key)) this.#usages.delete(key);
    return [...this.#usages];
  }
}
