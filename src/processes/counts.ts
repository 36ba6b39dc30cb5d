// What the processes of a service have counted, as the first of them gathers it. Counts that fall would pass for a service that
// began anew: who is late or has died has what it told last. Nothing is loaded, nor done, until somebody asks.
import { setTimeout as delay } from 'node:timers/promises';
import type { Snapshot } from '../metrics/together.ts';

/** What members have counted. */
export interface Counts<Member> {
  /** Resolves with what each of `members` tells, what those told that have ended, and what there is to tell of this process. */
  ofAll(members: Iterable<Member>): Promise<readonly Snapshot[]>;
  /** To be called when a member is no more. */
  ended(member: Member): void;
}

/** Returns what gathers counts by `ask`; a member has `withinMs` to answer. */
export function createCounts<Member>(ask: (member: Member) => Promise<Snapshot>, withinMs: number): Counts<Member> {
  const last = new Map<Member, Snapshot>();
  let gone: Promise<Snapshot> = Promise.resolve([]);
  let own: (() => Promise<Snapshot>) | undefined;

  async function update(member: Member): Promise<void> {
    const answer = ask(member).catch(() => undefined);
    const told = await Promise.race([answer, delay(withinMs, undefined, { ref: false })]);
    if (told) last.set(member, told);
  }

  return {
    async ofAll(members) {
      const { snapshotsOfProcess } = await import('../metrics/process.ts');
      own ??= snapshotsOfProcess();
      await Promise.all([...members].map(update));
      return [...last.values(), await gone, await own()];
    },

    ended(member) {
      const told = last.get(member);
      if (!last.delete(member) || !told) return;
      gone = gone.then(async (before) => {
        const { sumOfCounts } = await import('../metrics/together.ts');
        return sumOfCounts(before, told);
      });
    },
  };
}
