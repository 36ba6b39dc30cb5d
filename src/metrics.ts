// What the service counts and measures, told at GET /metrics in Prometheus' text format. What OpenTelemetry's semantic
// conventions know has the name that they give it; the rest begins with notes_. Loaded only where it is wanted.
import { Counter, Gauge, prometheusContentType, Registry } from 'prom-client';
import { endpoint } from './contract/endpoint.ts';
import type { Outcome, Route } from './http/dispatch.ts';
import { createHistogram, type Observe } from './metrics/histogram.ts';
import { measureProcess } from './metrics/process.ts';
import { type Snapshot, together } from './metrics/together.ts';
import type { BatchMeter } from './storage/batcher.ts';

/** What travels in batches. */
export type BatchKind = 'read' | 'page' | 'write';

/** What is looked at when somebody asks. */
export interface Gauges {
  /** Threads that are alive, those of them that are parked, and demonstrations that wait for some. */
  readonly threads: () => Promise<Readonly<Record<'alive' | 'parked' | 'waiting', number>>>;
  /** The sizes of the database's files in bytes, by what they are; none where it is in no file. */
  readonly fileSizes: () => Promise<Readonly<Record<string, number>>>;
}

/** What is told as it happens, and the route that gives it away. */
export interface Metrics {
  /** A request has come; each has its outcome later on. */
  begun(): void;
  ended(outcome: Outcome): void;
  /** What never became a request was answered with that status. */
  refused(status: number): void;
  readonly meters: Readonly<Record<BatchKind, BatchMeter>>;
  readonly route: Route;
  /** Lets go of what measures the process. */
  close(): void;
}

/** In seconds; those that the conventions give for requests. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** In seconds; a commit may take a few tenths of a millisecond. */
const BATCH_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 10];

const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** What a client may write there is without bounds; the conventions call all others so. */
const METHODS: ReadonlySet<string> = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '));
const OTHER_METHOD = '_OTHER';

/**
 * Returns metrics that begin now. `shareCounts` takes what resolves with those of this process, and returns what resolves with
 * those of each process of the service.
 */
export function createMetrics(
  { threads, fileSizes }: Gauges,
  shareCounts: (own: () => Promise<Snapshot>) => () => Promise<readonly Snapshot[]>,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const collect = shareCounts(async () => [
    ...histograms.map(({ snapshot }) => snapshot()),
    ...(await registry.getMetricsAsJSON()),
  ]);
  let active = 0;
  const queues: Record<BatchKind, (() => number)[]> = { read: [], page: [], write: [] };
  let asked: Promise<string> | undefined;

  const requests = createHistogram(
    'http_server_request_duration_seconds',
    'How long requests took until their answer was given away; without a status where the client had gone.',
    REQUEST_BUCKETS,
  );
  const sizes = createHistogram('notes_batch_items', 'How many of a kind travelled together.', SIZE_BUCKETS);
  const durations = createHistogram(
    'notes_batch_duration_seconds',
    'How long batches took; those that write until they were on disk.',
    BATCH_BUCKETS,
  );
  const histograms = [requests, sizes, durations];
  new Gauge({
    name: 'http_server_active_requests',
    help: 'Requests that have come and have no answer yet.',
    registers,
    collect() {
      this.set(active);
    },
  });
  const refusals = new Counter({
    name: 'notes_http_refused_total',
    help: 'What was answered although it never became a request: malformed, too large or late.',
    labelNames: ['http_response_status_code'],
    registers,
  });
  new Gauge({
    name: 'notes_batch_waiting',
    help: 'How many of a kind wait for their batch.',
    labelNames: ['batch'],
    registers,
    collect() {
      for (const [batch, each] of Object.entries(queues)) {
        this.set(
          { batch },
          each.reduce((sum, waiting) => sum + waiting(), 0),
        );
      }
    },
  });
  for (const [name, of, help] of [
    ['notes_threads_live', 'alive', 'Threads of demonstrations.'],
    ['notes_threads_standby', 'parked', 'Those of them that wait for a demonstration.'],
    ['notes_demonstrations_waiting', 'waiting', 'Demonstrations that wait for threads.'],
  ] as const) {
    new Gauge({
      ...{ name, help, registers },
      async collect() {
        this.set((await threads())[of]);
      },
    });
  }
  new Gauge({
    name: 'notes_database_file_bytes',
    help: 'How large the files of the database are: the main one and its write-ahead log.',
    labelNames: ['file'],
    aggregator: 'first',
    registers,
    async collect() {
      for (const [file, bytes] of Object.entries(await fileSizes())) this.set({ file }, bytes);
    },
  });
  const close = measureProcess(registry);

  function meterOf(batch: BatchKind): BatchMeter {
    const [size, duration] = [sizes.begin({ batch }), durations.begin({ batch })];
    return {
      watch: (waiting) => queues[batch].push(waiting),
      done(items, milliseconds) {
        size(items);
        duration(milliseconds / 1e3);
      },
    };
  }

  /** By status, the template of the path and the method: the series of requests that there have been. */
  const series = new Map<number | undefined, Map<string | undefined, Map<string, Observe>>>();

  function seriesOf({ method, template, status }: Outcome): Observe {
    const ofStatus = series.get(status) ?? new Map<string | undefined, Map<string, Observe>>();
    const ofTemplate = ofStatus.get(template) ?? new Map<string, Observe>();
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const known = ofTemplate.get(name);
    if (known) return known;
    const begun = requests.begin({
      http_request_method: name,
      http_route: template ?? '',
      http_response_status_code: String(status ?? ''),
    });
    series.set(status, ofStatus.set(template, ofTemplate.set(name, begun)));
    return begun;
  }

  async function exposition(): Promise<string> {
    return together(await collect()).metrics();
  }

  return {
    begun() {
      active += 1;
    },

    ended(outcome) {
      active -= 1;
      seriesOf(outcome)(outcome.milliseconds / 1e3);
    },

    refused: (status) => refusals.inc({ http_response_status_code: status }),

    meters: { read: meterOf('read'), page: meterOf('page'), write: meterOf('write') },

    route: endpoint('GET', '/metrics', async () => {
      // Whoever asks meanwhile shares the answer: to make it takes a while.
      asked ??= exposition().finally(() => {
        asked = undefined;
      });
      const headers = ['content-type', prometheusContentType, 'cache-control', 'no-store'];
      return { status: 200, headers, body: await asked };
    }),

    close,
  };
}
