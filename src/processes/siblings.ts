// What the processes of one service share, as one of them sees it: the write lease, the rates, the
// metrics, the health. A process that is alone has all of it for itself.
import { LocalRateLimiter, type Quota, type RateLimiter } from '../guards/rate-limit.ts';
import type { Snapshot } from '../metrics/snapshot.ts';
import { Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import { Channel, type Port } from './channel.ts';
import type { Count, MemberFunctions, SupervisorFunctions } from './protocol.ts';
import { WriteLease } from './write-lease.ts';

/** The processes that serve at one address, from one database. */
export interface Siblings {
  /** Returns the limiter of that name, which counts the requests of all processes together. */
  createLimiter(name: string, quota: number): RateLimiter;
  /**
   * Opens the database with `open`. A ping of what it resolves with reaches the databases of all
   * processes. With `needsLease`, as for a file, each write holds the write lease.
   */
  share(open: () => Promise<Database>, needsLease: boolean): Promise<Database>;
  /**
   * Takes a function that resolves with the metrics of this process; returns one for those of each
   * process.
   */
  shareCounts(own: () => Promise<Snapshot>): () => Promise<readonly Snapshot[]>;
}

/** A process without siblings. */
export const ALONE: Siblings = {
  createLimiter: (_name, quota) => new LocalRateLimiter(quota),
  share: (open) => open(),
  shareCounts: (own) => async () => [await own()],
};

/**
 * Joins the processes whose supervisor is at the other end of `port`, and offers it `functions`.
 */
export function join(
  port: Port,
  functions: Pick<MemberFunctions, 'listen' | 'reloadKeys'> & { readonly close: () => void },
): Siblings {
  let database: Database | undefined;
  let counts: () => Promise<Snapshot> = async () => [];
  const supervisor = new Channel<SupervisorFunctions>(port, {
    ...functions,
    leaseWanted: () => lease.wanted(),
    ping: () => database?.ping(),
    counts: () => counts(),
  } satisfies Record<keyof MemberFunctions, unknown>);
  supervisor.tell('begun');
  const lease = new WriteLease({
    acquire: () => supervisor.call('acquireLease'),
    release: () => supervisor.tell('releaseLease'),
  });
  const limits = new Batcher<Count, Quota>({ run: (batch) => supervisor.call('count', batch) });

  return {
    createLimiter: (limiter, quota) => ({
      take: (client) => limits.submit({ limiter, quota, client, take: true }),
      look: (client) => limits.submit({ limiter, quota, client, take: false }),
    }),

    shareCounts(own) {
      counts = own;
      return () => supervisor.call('countsOfAll');
    },

    async share(open, needsLease) {
      // Opening writes too.
      const own = await (needsLease ? lease.use(open) : open());
      database = own;
      const shared: Database = { ...own, ping: () => supervisor.call('pingAll') };
      return needsLease ? underLease(shared, lease) : shared;
    },
  };
}

function underLease(database: Database, lease: WriteLease): Database {
  return {
    ...database,
    writable: () => lease.acquire(),
    transact: (batchId, statements) => lease.use(() => database.transact(batchId, statements)),
    // The last connection to close checkpoints the log. If two closed at the same moment, neither
    // would.
    close: () => lease.use(() => database.close()),
  };
}
