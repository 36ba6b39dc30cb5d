// The metrics of the service: what it counts, what it reads from others, and the text of /metrics.

import type { Readings, Series } from '../feature.ts';
import type { Ending } from '../http/exchange.ts';
import type { BatchMeter } from '../storage/batcher.ts';
import { readVersion } from '../version.ts';
import { measureProcess } from './process.ts';
import {
  formatSnapshot,
  Histogram,
  labelsText,
  type Observe,
  type Snapshot,
  takeSnapshot,
} from './snapshot.ts';

/** Upper bounds in seconds, as the conventions of OpenTelemetry recommend. */
const REQUEST_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Upper bounds in seconds; they start low because a commit may take only 0.3 ms. */
const BATCH_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10,
];
const SIZE_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Methods with their own label value. Others share one, because clients can invent many. */
const METHODS: ReadonlySet<string> = new Set(
  'CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '),
);

/** What the metrics read from other parts. */
export interface MetricSources {
  /** Returns the labels of all present keys. */
  readonly keys: () => readonly string[];
  readonly readings: () => Readings;
}

/** Shares the metrics that `own` reads; returns a function that reads those of all processes. */
export type ShareMetrics = (own: () => Promise<Snapshot>) => () => Promise<Snapshot>;

/** The metrics of the service, counted from the moment of construction. */
export class Metrics {
  readonly #durations = new Histogram(REQUEST_BOUNDS);
  readonly #batchSizes = new Histogram(SIZE_BOUNDS);
  readonly #batchDurations = new Histogram(BATCH_BOUNDS);
  /** The functions that observe the existing series, by status, method and path template. */
  readonly #observers = new Map<string, Map<string, Map<number | undefined, Observe>>>();
  readonly #refusals: Series = {};
  /** Requests, refusals, bytes received and bytes sent of each key, by its label. */
  readonly #keyCounts = new Map<string, [number, number, number, number]>();
  readonly #keys: () => readonly string[];
  readonly #queues = new Map<string, (() => number)[]>();
  #active = 0;
  #streams = 0;
  readonly #process = measureProcess();
  readonly #collect: () => Promise<Snapshot>;
  readonly meters = {
    read: this.#meterOf('read'),
    page: this.#meterOf('page'),
    write: this.#meterOf('write'),
  };

  constructor(sources: MetricSources, shareMetrics: ShareMetrics) {
    this.#keys = sources.keys;
    const own = this.#readings();
    this.#collect = shareMetrics(() =>
      takeSnapshot({ ...own, ...sources.readings() }, [...this.#keyCounts]),
    );
  }

  #readings(): Readings {
    return {
      ...this.#process.readings,
      http_server_request_duration_seconds: () => this.#durations.read(),
      http_server_active_requests: () => this.#active,
      notes_streams_open: () => this.#streams,
      notes_http_refused_total: () => this.#refusals,
      notes_batch_items: () => this.#batchSizes.read(),
      notes_batch_duration_seconds: () => this.#batchDurations.read(),
      notes_batch_waiting: () => {
        const waiting: Series = {};
        for (const [series, lengths] of this.#queues)
          waiting[series] = lengths.reduce((sum, length) => sum + length(), 0);
        return waiting;
      },
      notes_build_info: () => ({ [labelsText({ version: readVersion() })]: 1 }),
    };
  }

  readonly beginRequest = (): void => {
    this.#active += 1;
  };

  /** Records a request that has ended, answered or not, or whose stream has begun or ended. */
  readonly endRequest = (ending: Ending): void => {
    const { exchange, stream, milliseconds } = ending;
    if (stream === 'ended') this.#streams -= 1;
    else this.#active -= 1;
    if (stream === 'opened') this.#streams += 1;
    const { key } = exchange.admission;
    if (key) this.#countKey(key.label, ending);
    // The duration of a stream says nothing about the service.
    if (!stream) this.#observerOf(ending)(milliseconds / 1e3);
  };

  recordRefusal(status: number): void {
    const series = labelsText({ http_response_status_code: status });
    this.#refusals[series] = (this.#refusals[series] ?? 0) + 1;
  }

  /** Forgets what removed keys have sent and received. */
  readonly forgetRemovedKeys = (): void => {
    const present = new Set(this.#keys());
    for (const label of this.#keyCounts.keys())
      if (!present.has(label)) this.#keyCounts.delete(label);
  };

  async exposition(): Promise<string> {
    return formatSnapshot(await this.#collect(), this.#keys());
  }

  close(): void {
    this.#process.stop();
  }

  /** Counts a request; the opening of a stream is one, and its end adds what was sent. */
  #countKey(label: string, { exchange, stream }: Ending): void {
    const counts = this.#keyCounts.get(label) ?? [0, 0, 0, 0];
    this.#keyCounts.set(label, counts);
    counts[3] += exchange.sentBytes;
    if (stream === 'ended') return;
    counts[0] += 1;
    counts[1] += exchange.admission.refusal ? 1 : 0;
    counts[2] += exchange.bytes.length;
  }

  /** Looks up by three keys: joining them into one would take most of the time. */
  #observerOf({ exchange, status }: Ending): Observe {
    const { template = '', message } = exchange;
    const { method: sent = '' } = message;
    const method = METHODS.has(sent) ? sent : '_OTHER';
    const byStatus = childOf(childOf(this.#observers, template), method);
    const known = byStatus.get(status);
    if (known) return known;
    const observe = this.#durations.addSeries({
      http_request_method: method,
      http_route: template,
      http_response_status_code: String(status ?? ''),
    });
    byStatus.set(status, observe);
    return observe;
  }

  #meterOf(batch: string): BatchMeter {
    const size = this.#batchSizes.addSeries({ batch });
    const duration = this.#batchDurations.addSeries({ batch });
    const lengths: (() => number)[] = [];
    this.#queues.set(labelsText({ batch }), lengths);
    return {
      watch: (length) => lengths.push(length),
      done(items, milliseconds) {
        size(items);
        duration(milliseconds / 1e3);
      },
    };
  }
}

/** Returns the map at `key`, which it adds if it is missing. */
function childOf<Key, Inner>(map: Map<string, Map<Key, Inner>>, key: string): Map<Key, Inner> {
  const child = map.get(key) ?? new Map<Key, Inner>();
  if (child.size === 0) map.set(key, child);
  return child;
}
