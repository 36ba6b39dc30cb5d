// What the processes of a service ask of each other. One supervises: it starts the others, which serve, and keeps what they
// have in common.
import type { Quota } from '../guards/rate-limit.ts';
import type { Snapshot } from '../metrics/together.ts';

/** A request that is to be counted, or only looked at, by the limiter of that name and quota. */
export interface Count {
  readonly limiter: string;
  readonly quota: number;
  readonly client: string;
  readonly take: boolean;
}

/** What the supervisor does for a member. */
export type SupervisorFunctions = {
  /** The member has begun and can be called: what comes before it has, Node drops. */
  readonly begun: () => void;
  /** Asks for the turn at writing; resolves when it has come, with whether others wait already. */
  readonly askTurn: () => Promise<boolean>;
  readonly passTurn: () => void;
  readonly count: (counts: readonly Count[]) => readonly Quota[];
  /** Resolves when the databases of all members have answered; rejects if one does not. */
  readonly pingAll: () => Promise<void>;
  /** Resolves with what each process has counted, so far as it has told. */
  readonly countsOfAll: () => Promise<readonly Snapshot[]>;
};

/** What a member does for the supervisor. */
export type MemberFunctions = {
  /** Serves on that port; resolves with the URL, and rejects as the app does. */
  readonly listen: (port: number) => Promise<string>;
  readonly reloadKeys: () => Promise<number>;
  /** Stops serving, and ends the process. */
  readonly close: () => void;
  /** Another member waits for the turn. */
  readonly turnWanted: () => void;
  readonly ping: () => Promise<void>;
  /** Resolves with what it has counted. */
  readonly counts: () => Promise<Snapshot>;
};
