// The table of all metrics, snapshots of their values, and the text of a snapshot for Prometheus.
import type { Readings, Series } from '../feature.ts';
import { Turns } from '../http/turns.ts';

/** All metrics by type, with their help texts. They follow the conventions of OpenTelemetry. */
const METRICS = {
  histogram: {
    http_server_request_duration_seconds:
      'Duration of requests until the answer was sent; no status if the client had disconnected.',
    notes_batch_items: 'Items in a batch.',
    notes_batch_duration_seconds: 'Duration of a batch; for writes, until they are on disk.',
  },
  counter: {
    notes_http_refused_total:
      'Error responses to input that is not a valid request: malformed, too large or late.',
    notes_key_requests_total: 'Requests with a key, refused ones included.',
    notes_key_refusals_total: 'Requests that the service refused because of their key or rate.',
    notes_key_bytes_total: 'Bytes of the bodies of requests (received) and answers (sent).',
    notes_cache_lookups_total: 'Records and pages that were found in memory (hit) or not (miss).',
    notes_tool_calls_total: 'Calls of tools by assistants; no problem if they succeeded.',
    process_cpu_seconds_total: 'CPU time of all threads.',
  },
  gauge: {
    http_server_active_requests: 'Requests in progress, without open streams.',
    notes_streams_open: 'Open streams of changes.',
    notes_batch_waiting: 'Items that wait for the next batch.',
    notes_cache_bytes: 'Memory that records and pages take.',
    notes_build_info: 'The version of the service, as a label; the value is always 1.',
    notes_threads_live: 'Threads of demonstrations, idle ones included.',
    notes_threads_standby: 'Idle threads of demonstrations.',
    notes_demonstrations_waiting: 'Demonstrations that wait for threads.',
    notes_database_file_bytes: 'Size of the database file (main) and of its write-ahead log (wal).',
    process_start_time_seconds: 'Start time of the process since the Unix epoch.',
    process_resident_memory_bytes: 'Resident memory size.',
    v8js_memory_heap_used_bytes: 'Used memory of the JavaScript heap.',
    nodejs_eventloop_utilization_ratio: 'Busy share of the event loop, from 0 to 1.',
    nodejs_eventloop_delay_p99_seconds: 'Delay of the event loop (p99).',
    nodejs_eventloop_delay_max_seconds: 'Delay of the event loop (max).',
  },
} as const;

/** How the values of two processes become one, if not by adding them. */
const COMBINED: Readonly<Record<string, (one: number, other: number) => number>> = {
  notes_build_info: (one) => one,
  // All processes share the files.
  notes_database_file_bytes: (one) => one,
  process_start_time_seconds: Math.min,
};

/** The metric and the further labels of each count of a key. */
const KEY_METRICS = [
  ['notes_key_requests_total', ''],
  ['notes_key_refusals_total', ''],
  ['notes_key_bytes_total', ',direction="received"'],
  ['notes_key_bytes_total', ',direction="sent"'],
] as const;

/** The label of a key, and its counts in the order of KEY_METRICS. */
export type KeyCounts = readonly [label: string, counts: readonly number[]];

/** The values of all metrics at one moment, representable in JSON. */
export interface Snapshot {
  readonly metrics: Readonly<Record<string, Series>>;
  /** Without the text of each series, which would take too long for 10,000 keys. */
  readonly keys: readonly KeyCounts[];
}

const turns = new Turns();

/** Formats labels for the text. Their values need no escapes, because none comes from a client. */
export function labelsText(labels: Readonly<Record<string, string | number>>): string {
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return `{${texts.join()}}`;
}

export type Observe = (value: number) => void;

/** A histogram; `bounds` are the inclusive upper bounds of the buckets, ascending. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #all: { labels: string; counts: Float64Array; sum: number }[] = [];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  /** Adds a series with these labels, which must be new; returns a function that adds to it. */
  addSeries(labels: Record<string, string>): Observe {
    // Not cumulative; the last bucket has no upper bound.
    const counts = new Float64Array(this.#bounds.length + 1);
    const bounds = this.#bounds;
    const series = { labels: labelsText(labels), counts, sum: 0 };
    this.#all.push(series);
    return (value) => {
      let bucket = 0;
      while (value > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      series.sum += value;
    };
  }

  read(): Series {
    const values: Series = {};
    for (const { labels, counts, sum } of this.#all) {
      let count = 0;
      for (const [bucket, inBucket] of counts.entries()) {
        count += inBucket;
        values[`_bucket${labels.slice(0, -1)},le="${this.#bounds[bucket] ?? '+Inf'}"}`] = count;
      }
      values[`_sum${labels}`] = sum;
      values[`_count${labels}`] = count;
    }
    return values;
  }
}

/** Calls all readings, in their order, and adds the counts of `keys`. */
export async function takeSnapshot(
  readings: Readings,
  keys: readonly KeyCounts[] = [],
): Promise<Snapshot> {
  const entries = Object.entries(readings).map(async ([name, read]) => {
    const value = await read();
    return [name, typeof value === 'number' ? { '': value } : value] as const;
  });
  return { metrics: Object.fromEntries(await Promise.all(entries)), keys };
}

/** Combines the snapshots of several processes. */
export async function combine(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const combined: Record<string, Series> = {};
  for (const [name, values] of snapshots.flatMap(({ metrics }) => Object.entries(metrics))) {
    const all = combined[name] ?? {};
    combined[name] = all;
    // Of the event loops, the busiest counts.
    const add = name.startsWith('nodejs_eventloop_') ? Math.max : COMBINED[name];
    for (const [series, value] of Object.entries(values)) {
      const before = all[series] ?? 0;
      all[series] = add && series in all ? add(before, value) : before + value;
    }
  }
  const sums = new Map<string, readonly number[]>();
  for (const { keys } of snapshots) {
    for (const [label, counts] of keys) {
      const before = sums.get(label);
      sums.set(label, before?.map((sum, index) => sum + (counts[index] ?? 0)) ?? counts);
    }
    await turns.next();
  }
  return { metrics: combined, keys: [...sums] };
}

/** Returns what outlives a process: its histograms and counters. */
export function countersOf({ metrics, keys }: Snapshot): Snapshot {
  const counters = Object.entries(metrics).filter(([name]) => !(name in METRICS.gauge));
  return { metrics: Object.fromEntries(counters), keys };
}

/** Resolves with a text for Prometheus (format 0.0.4); of the keys, it has those with `labels`. */
export async function formatSnapshot(
  { metrics, keys }: Snapshot,
  labels: readonly string[],
): Promise<string> {
  const present = new Set(labels);
  const counted = keys.filter(([label]) => present.has(label));
  const texts: string[] = [];
  for (const [type, helpTexts] of Object.entries(METRICS)) {
    for (const [name, help] of Object.entries(helpTexts)) {
      texts.push(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
      for (const [series, value] of Object.entries(metrics[name] ?? {}))
        texts.push(`${name}${series} ${value}\n`);
      for (const [index, [metric, more]] of KEY_METRICS.entries()) {
        if (metric !== name) continue;
        for (const [key, counts] of counted)
          texts.push(`${name}{key="${key}"${more}} ${counts[index]}\n`);
      }
      await turns.next();
    }
  }
  return texts.join('');
}
