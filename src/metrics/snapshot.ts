// The metrics of several processes as those of one service.
import { AggregatorRegistry, type Registry } from 'prom-client';

/** All metrics of one process, as JSON can carry them. */
export type Snapshot = readonly object[];

/**
 * Returns the metrics of all snapshots together: each by its own aggregator, counts as their sums.
 */
export function aggregate(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((each) => [...each]));
}

/**
 * Returns the counts of both, which must outlive a process that ended: a falling counter would look
 * like a restart.
 */
export async function sumOfCounts(one: Snapshot, other: Snapshot): Promise<Snapshot> {
  const snapshot = await aggregate([one, other]).getMetricsAsJSON();
  return snapshot.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
