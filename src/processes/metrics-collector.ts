// Collects the metrics of all processes in the supervisor. A late or dead process keeps its last
// snapshot, because a falling counter would look like a restart. The metrics library is loaded only
// when the metrics are first read.
import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from '../metrics/snapshot.ts';
import type { Child } from './child.ts';

/** How long a member may take to report its metrics. */
const REPORT_MS = 1_000;

/** The metrics of the members and of the supervisor. */
export class MetricsCollector {
  readonly #last = new Map<Child, Snapshot>();
  /** The sum of the counters of all members that have ended. */
  #ended: Promise<Snapshot> = Promise.resolve([]);
  #own: (() => Promise<Snapshot>) | undefined;

  /** Resolves with the snapshots of `members`, of those that have ended, and of this process. */
  async collect(members: Iterable<Child>): Promise<readonly Snapshot[]> {
    const { createSnapshotReader } = await import('../metrics/process.ts');
    this.#own ??= createSnapshotReader();
    await Promise.all([...members].map((member) => this.#update(member)));
    return [...this.#last.values(), await this.#ended, await this.#own()];
  }

  /** Keeps the counters of a member that has ended. */
  memberEnded(member: Child): void {
    const last = this.#last.get(member);
    if (!this.#last.delete(member) || !last) return;
    this.#ended = this.#ended.then(async (before) => {
      const { sumOfCounters } = await import('../metrics/snapshot.ts');
      return sumOfCounters(before, last);
    });
  }

  async #update(member: Child): Promise<void> {
    const report = member.channel.call('metrics').catch(() => undefined);
    const snapshot = await Promise.race([report, delay(REPORT_MS, undefined, { ref: false })]);
    if (snapshot) this.#last.set(member, snapshot);
  }
}
