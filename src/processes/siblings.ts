// What a process shares with the other processes of its service: the write lease, the rate limits,
// the metrics and the health. A single process keeps all of it to itself.
import { LocalRateLimiter, type Quota, type RateLimiter } from '../guards/rate-limit.ts';
import type { ShareMetrics, Snapshot } from '../metrics/snapshot.ts';
import { Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import { Channel, type Port } from './channel.ts';
import type { LimiterCall, MemberFunctions, SupervisorFunctions } from './protocol.ts';
import { WriteLease } from './write-lease.ts';

/** The processes that serve at one address and from one database. */
export interface Siblings {
  /** Returns the limiter of that name; it counts the requests to all processes. */
  createLimiter(name: string, quota: number): RateLimiter;
  /**
   * Opens the database with `open`. A ping of the result pings the databases of all processes. With
   * `needsLease`, as for a file, each write holds the write lease.
   */
  openDatabase(open: () => Promise<Database>, needsLease: boolean): Promise<Database>;
  /** Offers `own`, the metrics of this process; returns a function that reads those of each. */
  shareMetrics: ShareMetrics;
}

/** The siblings of a single process: there are none. */
export const ALONE: Siblings = {
  createLimiter: (_name, quota) => new LocalRateLimiter(quota),
  openDatabase: (open) => open(),
  shareMetrics: (own) => async () => [await own()],
};

/** Joins the service whose supervisor is at the other end of `port`; offers it `functions`. */
export function join(
  port: Port,
  functions: Pick<MemberFunctions, 'listen' | 'reloadKeys'> & { readonly close: () => void },
): Siblings {
  let database: Database | undefined;
  let metrics: () => Promise<Snapshot> = async () => [];
  const supervisor = new Channel<SupervisorFunctions>(port, {
    ...functions,
    leaseWanted: () => lease.wanted(),
    ping: () => database?.ping(),
    metrics: () => metrics(),
  } satisfies Record<keyof MemberFunctions, unknown>);
  supervisor.notify('ready');
  const lease = new WriteLease({
    acquire: () => supervisor.call('acquireLease'),
    release: () => supervisor.notify('releaseLease'),
  });
  const limiters = new Batcher<LimiterCall, Quota>({
    run: (batch) => supervisor.call('limit', batch),
  });

  return {
    createLimiter: (limiter, quota) => ({
      take: (client) => limiters.submit({ limiter, quota, client, take: true }),
      look: (client) => limiters.submit({ limiter, quota, client, take: false }),
    }),

    shareMetrics(own) {
      metrics = own;
      return () => supervisor.call('allMetrics');
    },

    async openDatabase(open, needsLease) {
      // Opening may write, too.
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
    // An error of the lease makes `transact` reject.
    writable: () => lease.acquire().catch(() => {}),
    transact: (batchId, statements) => lease.use(() => database.transact(batchId, statements)),
    // SQLite checkpoints the log when the last connection closes. If two closed at once, neither
    // would be the last.
    close: () => lease.use(() => database.close()),
  };
}
