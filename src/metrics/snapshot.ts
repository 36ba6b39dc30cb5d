// Combines the metrics of several processes.
import { AggregatorRegistry, type Registry } from 'prom-client';

/** All metrics of one process, representable in JSON. */
export type Snapshot = readonly object[];

/** Shares the metrics that `own` reads; returns a function that reads those of all processes. */
export type ShareMetrics = (own: () => Promise<Snapshot>) => () => Promise<readonly Snapshot[]>;

/** Combines snapshots: adds counters and histograms; combines each gauge by its own aggregator. */
export function aggregate(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((each) => [...each]));
}

/** Resolves with the counters and histograms of both snapshots, added. */
export async function sumOfCounters(one: Snapshot, other: Snapshot): Promise<Snapshot> {
  const snapshot = await aggregate([one, other]).getMetricsAsJSON();
  return snapshot.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
