// What the processes of one service ask of each other. The supervisor starts the members, which
// serve, and keeps what they share.
import type { Quota } from '../guards/rate-limit.ts';
import type { Snapshot } from '../metrics/snapshot.ts';

/** A request to count, or only to look up, at the limiter of that name and quota. */
export interface Count {
  readonly limiter: string;
  readonly quota: number;
  readonly client: string;
  readonly take: boolean;
}

/** What the supervisor does for a member. */
export type SupervisorFunctions = {
  /** The member can be called from now on: Node drops messages that are sent earlier. */
  readonly begun: () => void;
  /** Requests the write lease; resolves when it is granted, with whether others wait already. */
  readonly acquireLease: () => Promise<boolean>;
  readonly releaseLease: () => void;
  readonly count: (counts: readonly Count[]) => readonly Quota[];
  /** Resolves when the databases of all members have answered; rejects if one does not. */
  readonly pingAll: () => Promise<void>;
  /** Resolves with the latest known metrics of each process. */
  readonly countsOfAll: () => Promise<readonly Snapshot[]>;
};

/** What a member does for the supervisor. */
export type MemberFunctions = {
  /** Serves on that port; resolves with the URL, and rejects as the app does. */
  readonly listen: (port: number) => Promise<string>;
  readonly reloadKeys: () => Promise<number>;
  /** Stops serving and ends the process. */
  readonly close: () => void;
  /** Another member wants the write lease. */
  readonly leaseWanted: () => void;
  readonly ping: () => Promise<void>;
  /** Resolves with the metrics of this process. */
  readonly counts: () => Promise<Snapshot>;
};
