// Gathers the metrics of all processes in the supervisor. A late or dead process keeps its last
// snapshot, because a falling counter would look like a restart. Nothing is loaded before the first
// use.
import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from '../metrics/snapshot.ts';
import type { Child } from './child.ts';

/** The metrics of the members and of this process. */
export class Counts {
  readonly #answerMs: number;
  readonly #last = new Map<Child, Snapshot>();
  /** The sum of the counts of all members that have ended. */
  #ended: Promise<Snapshot> = Promise.resolve([]);
  #own: (() => Promise<Snapshot>) | undefined;

  /** A member has `answerMs` to answer. */
  constructor(answerMs: number) {
    this.#answerMs = answerMs;
  }

  /** Resolves with the snapshots of `members`, of those that have ended, and of this process. */
  async ofAll(members: Iterable<Child>): Promise<readonly Snapshot[]> {
    const { snapshotsOfProcess } = await import('../metrics/process.ts');
    this.#own ??= snapshotsOfProcess();
    await Promise.all([...members].map((member) => this.#update(member)));
    return [...this.#last.values(), await this.#ended, await this.#own()];
  }

  /** Keeps the counts of a member that has ended. */
  ended(member: Child): void {
    const last = this.#last.get(member);
    if (!this.#last.delete(member) || !last) return;
    this.#ended = this.#ended.then(async (before) => {
      const { sumOfCounts } = await import('../metrics/snapshot.ts');
      return sumOfCounts(before, last);
    });
  }

  async #update(member: Child): Promise<void> {
    const answer = member.channel.call('counts').catch(() => undefined);
    const snapshot = await Promise.race([answer, delay(this.#answerMs, undefined, { ref: false })]);
    if (snapshot) this.#last.set(member, snapshot);
  }
}
