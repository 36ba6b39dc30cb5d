// What the clients of each key have sent and received, for as long as the service has the key.
import type { Outcome } from '../http/route.ts';
import { labelsText, type Series } from './snapshot.ts';

const UNUSED = { requests: 0, refusals: 0, received: 0, sent: 0 };

/** Counts requests, refusals and bytes for each key. */
export class KeyUsage {
  readonly #labels: () => readonly string[];
  readonly #usages = new Map<string, typeof UNUSED>();

  /** `labels` returns those of all present keys. */
  constructor(labels: () => readonly string[]) {
    this.#labels = labels;
  }

  /** Counts a request; the opening of a stream is one, and its end adds what was sent. */
  count({ exchange, stream }: Outcome): void {
    const { key, refusal } = exchange.admission;
    if (!key) return;
    const usage = this.#usages.get(key.label) ?? { ...UNUSED };
    if (usage.requests === 0) this.#usages.set(key.label, usage);
    usage.sent += exchange.sentBytes;
    if (stream === 'ended') return;
    usage.requests += 1;
    usage.refusals += refusal ? 1 : 0;
    usage.received += exchange.bytes.length;
  }

  /** Returns counts of the present keys that were used, and forgets all others. */
  read(counts: readonly (keyof typeof UNUSED)[], direction = false): Series {
    const present = new Set(this.#labels());
    for (const key of this.#usages.keys()) if (!present.has(key)) this.#usages.delete(key);
    const series: Series = {};
    for (const [key, usage] of this.#usages) {
      for (const count of counts)
        series[labelsText(direction ? { key, direction: count } : { key })] = usage[count];
    }
    return series;
  }
}
