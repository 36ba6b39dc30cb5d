// What the clients of each key have sent and received, for as long as the service has the key.
import type { Ending } from '../http/exchange.ts';
import type { KeyCounts } from './snapshot.ts';

/** Counts requests, refusals and bytes for each key. */
export class KeyUsage {
  readonly #labels: () => readonly string[];
  /** Requests, refusals, bytes received and bytes sent. */
  #usages = new Map<string, [number, number, number, number]>();

  /** `labels` returns those of all present keys. */
  constructor(labels: () => readonly string[]) {
    this.#labels = labels;
  }

  /** Counts a request; the opening of a stream is one, and its end adds what was sent. */
  count(label: string, { exchange, stream }: Ending): void {
    const counts = this.#usages.get(label) ?? [0, 0, 0, 0];
    if (counts[0] === 0) this.#usages.set(label, counts);
    counts[3] += exchange.sentBytes;
    if (stream === 'ended') return;
    counts[0] += 1;
    counts[1] += exchange.admission.refusal ? 1 : 0;
    counts[2] += exchange.bytes.length;
  }

  /** Returns counts of the present keys that were used, and forgets all others. */
  read(): readonly KeyCounts[] {
    const present = this.ofPresent([...this.#usages]);
    if (present.length < this.#usages.size) this.#usages = new Map(present);
    return present;
  }

  /** Returns the counts of the keys that are present. */
  ofPresent<Counts extends KeyCounts>(counts: readonly Counts[]): Counts[] {
    const present = new Set(this.#labels());
    return counts.filter(([label]) => present.has(label));
  }
}
