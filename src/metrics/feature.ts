// The metrics at /metrics, in the text format of Prometheus: what the service counts, and what it
// reads from its features.
import { stat } from 'node:fs/promises';
import { endpoint } from '../contract/endpoint.ts';
import type { EarlyFeature, Readings, Series, Together } from '../feature.ts';
import type { Ending } from '../http/exchange.ts';
import type { Bases } from '../http/paths.ts';
import type { Problem } from '../http/problem.ts';
import type { BatchMeter } from '../storage/batcher.ts';
import { companionsOf } from '../storage/sqlite/paths.ts';
import { readVersion } from '../version.ts';
import { measureProcess } from './process.ts';
import {
  combine,
  countersOf,
  formatSnapshot,
  Histogram,
  labelsText,
  type Observe,
  type Snapshot,
  takeSnapshot,
} from './snapshot.ts';

const HEADERS = [
  ...['content-type', 'text/plain; version=0.0.4; charset=utf-8'],
  ...['cache-control', 'no-store'],
];

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

type DatabaseName = Readonly<Record<'kind' | 'name', string>>;
type Share = (own: () => Promise<Snapshot>) => () => Promise<Snapshot>;

/** The metrics of the service, counted from the moment of construction. */
class Metrics implements EarlyFeature {
  readonly #durations = new Histogram(REQUEST_BOUNDS);
  readonly #batchSizes = new Histogram(SIZE_BOUNDS);
  readonly #batchDurations = new Histogram(BATCH_BOUNDS);
  /** The functions that observe the existing series, by method, path template and status. */
  readonly #observers = new Map<string, Observe>();
  readonly #refusals: Series = {};
  /** Requests, refusals, bytes received and bytes sent of each key, by its label. */
  readonly #keyCounts = new Map<string, [number, number, number, number]>();
  readonly #keys: () => readonly string[];
  readonly #queues = new Map<string, (() => number)[]>();
  #active = 0;
  #streams = 0;
  readonly #process = measureProcess();
  readonly #database: DatabaseName;
  readonly #share: Share;
  readonly meters = {
    read: this.#meterOf('read'),
    page: this.#meterOf('page'),
    write: this.#meterOf('write'),
  };

  constructor(database: DatabaseName, keys: () => readonly string[], share: Share = (own) => own) {
    this.#database = database;
    this.#keys = keys;
    this.#share = share;
  }

  get readings(): Readings {
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
      notes_database_file_bytes: () => fileSizes(this.#database),
      notes_build_info: () => ({ [labelsText({ version: readVersion() })]: 1 }),
    };
  }

  readonly routes = (_: Bases, { readings }: Together) => {
    const collect = this.#share(() => takeSnapshot(readings, [...this.#keyCounts]));
    const route = endpoint('GET', '/metrics', async () => {
      const body = await formatSnapshot(await collect(), this.#keys());
      return { status: 200, headers: HEADERS, body };
    });
    return [route];
  };

  readonly onArrival = (): void => {
    this.#active += 1;
  };

  readonly onEnd = (ending: Ending): void => {
    const { exchange, stream, milliseconds } = ending;
    if (stream === 'ended') this.#streams -= 1;
    else this.#active -= 1;
    if (stream === 'opened') this.#streams += 1;
    const { key } = exchange.admission;
    if (key) this.#countKey(key.label, ending);
    // The duration of a stream says nothing about the service.
    if (!stream) this.#observerOf(ending)(milliseconds / 1e3);
  };

  readonly onRefused = (_: string, { status }: Problem): void => {
    const series = labelsText({ http_response_status_code: status });
    this.#refusals[series] = (this.#refusals[series] ?? 0) + 1;
  };

  readonly close = (): void => this.#process.stop();

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

  #observerOf({ exchange, status }: Ending): Observe {
    const { template = '', message } = exchange;
    const { method: sent = '' } = message;
    const method = METHODS.has(sent) ? sent : '_OTHER';
    const code = String(status ?? '');
    const key = `${method} ${template} ${code}`;
    let observe = this.#observers.get(key);
    if (!observe) {
      observe = this.#durations.addSeries({
        http_request_method: method,
        http_route: template,
        http_response_status_code: code,
      });
      this.#observers.set(key, observe);
    }
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

async function fileSizes({ kind, name }: DatabaseName): Promise<Series> {
  if (kind !== 'file') return {};
  const sizeOf = async (path: string) => (await stat(path).catch(() => ({ size: 0 }))).size;
  const [log] = companionsOf(name);
  return { '{file="main"}': await sizeOf(name), '{file="wal"}': await sizeOf(log) };
}

/** The metrics, also of `database` and the keys with these labels; `share` combines processes. */
export function metrics(...parts: ConstructorParameters<typeof Metrics>): EarlyFeature {
  return new Metrics(...parts);
}

/** The metrics for a process that combines those of others, and serves no requests itself. */
export const combinedMetrics = {
  /** Measures this process from now on; returns a function that resolves with its snapshot. */
  measure(): () => Promise<Snapshot> {
    const { readings } = measureProcess();
    return () => takeSnapshot(readings);
  },
  combine,
  countersOf,
};
