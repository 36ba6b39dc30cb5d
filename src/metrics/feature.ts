// The metrics at /metrics, in the text format of Prometheus.
import { stat } from 'node:fs/promises';
import { endpoint } from '../contract/endpoint.ts';
import { companionsOf } from '../database-paths.ts';
import type { Feature, Series } from '../feature.ts';
import { Metrics, type ShareMetrics } from './metrics.ts';
import { measureProcess } from './process.ts';
import { combine, countersOf, type Snapshot, takeSnapshot } from './snapshot.ts';

const HEADERS = [
  ...['content-type', 'text/plain; version=0.0.4; charset=utf-8'],
  ...['cache-control', 'no-store'],
];

/** The metrics of `features`, `db`, and the keys with these labels; `share` combines processes. */
export function metrics(
  features: readonly Feature[],
  { db }: { readonly db: { readonly kind: string; readonly name: string } },
  keys: () => readonly string[],
  share: ShareMetrics = (own) => own,
): Feature {
  async function notes_database_file_bytes(): Promise<Series> {
    if (db.kind !== 'file') return {};
    const sizeOf = async (path: string) => (await stat(path).catch(() => ({ size: 0 }))).size;
    const [log] = companionsOf(db.name);
    return { '{file="main"}': await sizeOf(db.name), '{file="wal"}': await sizeOf(log) };
  }
  const readings = () =>
    Object.assign({ notes_database_file_bytes }, ...features.map((each) => each.readings));
  const counted = new Metrics({ keys, readings }, share);
  const route = endpoint('GET', '/metrics', async () => ({
    status: 200,
    headers: HEADERS,
    body: await counted.exposition(),
  }));
  return {
    meters: counted.meters,
    routes: () => [route],
    onArrival: counted.beginRequest,
    onEnd: counted.endRequest,
    onKeysChanged: counted.forgetRemovedKeys,
    onRefused: (_, { status }) => counted.recordRefusal(status),
    close: () => counted.close(),
  };
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
