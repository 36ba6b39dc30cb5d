// The metrics of several processes as those of one service.
import { AggregatorRegistry, type Registry } from 'prom-client';

/** What one process tells the others: all its metrics, which JSON can carry. */
export type Snapshot = readonly object[];

/** Returns the metrics of all snapshots together: each by its own way of being added up, counts by their sums. */
export function together(snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate(snapshots.map((each) => [...each]));
}

/** Returns the counts of both: what holds on when a process has ended. */
export async function sumOfCounts(one: Snapshot, other: Snapshot): Promise<Snapshot> {
  const snapshot = await together([one, other]).getMetricsAsJSON();
  return snapshot.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
}
