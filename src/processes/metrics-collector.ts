// Collects the metrics of all processes in the supervisor. A late or dead process keeps its last
// snapshot, because a falling counter would look like a restart.
import { setTimeout as delay } from 'node:timers/promises';
import { measureProcess } from '../metrics/process.ts';
import { combine, countersOf, type Snapshot, takeSnapshot } from '../metrics/snapshot.ts';
import type { Child } from './child.ts';

/** How long a member may take to report its metrics. */
const REPORT_MS = 1_000;

/** The metrics of the members and of the supervisor. */
export class MetricsCollector {
  readonly #last = new Map<Child, Snapshot>();
  /** The sum of the counters of all members that have ended. */
  #ended: Snapshot = {};
  /** The supervisor measures itself from the first call of {@link collect} on. */
  #own: ReturnType<typeof measureProcess> | undefined;

  /** Resolves with the metrics of `members`, of those that have ended, and of this process. */
  async collect(members: Iterable<Child>): Promise<Snapshot> {
    this.#own ??= measureProcess();
    await Promise.all([...members].map((member) => this.#update(member)));
    const own = await takeSnapshot(this.#own.readings);
    return combine([...this.#last.values(), this.#ended, own]);
  }

  /** Keeps the counters of a member that has ended. */
  memberEnded(member: Child): void {
    const last = this.#last.get(member);
    if (!last) return;
    this.#last.delete(member);
    this.#ended = countersOf(combine([this.#ended, last]));
  }

  async #update(member: Child): Promise<void> {
    const report = member.channel.call('metrics').catch(() => undefined);
    const snapshot = await Promise.race([report, delay(REPORT_MS, undefined, { ref: false })]);
    if (snapshot) this.#last.set(member, snapshot);
  }
}
