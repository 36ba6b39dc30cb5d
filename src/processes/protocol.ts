// The functions that the supervisor and the members, which serve requests, offer each other.
import type { KeyEntry } from '../guards/key-file.ts';
import type { Quota } from '../guards/rate-limit.ts';

export interface LimiterCall {
  readonly limiter: string;
  readonly quota: number;
  readonly client: string;
  readonly count: number;
  readonly take: boolean;
}

/** The metrics of a process, representable in JSON; what they contain is not known here. */
export type Report = object;

/** What the supervisor does for a member. */
export type SupervisorFunctions = {
  /** The member can be called from now on; Node drops messages that are sent earlier. */
  readonly ready: () => void;
  readonly acquireLease: () => Promise<void>;
  readonly releaseLease: () => void;
  readonly limit: (calls: readonly LimiterCall[]) => readonly Quota[];
  /** Pings the databases of all members; rejects if one does not answer. */
  readonly pingAll: () => Promise<void>;
  readonly allMetrics: () => Promise<Report | undefined>;
  /** Reserves the place of a client in all processes; false if it is taken. */
  readonly takePlace: (client: string) => boolean;
  readonly freePlace: (client: string) => void;
};

/** The keys that the supervisor has read: no member reads them itself, so all have the same. */
type Entries = readonly KeyEntry[] | undefined;

/** What a member does for the supervisor. */
export type MemberFunctions = {
  /** Serves on a port; resolves with the URL, and rejects as the start of an App does. */
  readonly listen: (at: { readonly port: number; readonly keys: Entries }) => Promise<string>;
  readonly reloadKeys: (keys: Entries) => Promise<number>;
  readonly leaseWanted: () => void;
  readonly ping: () => Promise<void>;
  /** Undefined without metrics. */
  readonly metrics: () => Promise<Report> | undefined;
};
