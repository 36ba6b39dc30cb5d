// What the processes of one service share: the write lease, rate limits, metrics and health. The
// supervisor process holds this state, and the others call it.
import type { KeyEntry } from '../guards/key-file.ts';
import { LocalRateLimiter, type Quota, type RateLimiter } from '../guards/rate-limit.ts';
import { NO_METRICS, type ShareMetrics, type Snapshot } from '../metrics/snapshot.ts';
import { Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import { Channel, type Port } from './channel.ts';
import { WriteLease } from './lease.ts';
import type { LimiterCall, MemberFunctions, SupervisorFunctions } from './protocol.ts';

/** Gives a process access to the others that serve the same address and database. */
export interface Siblings {
  /** The keys that the supervisor has read; undefined if this process has to read them. */
  readonly keys?: readonly KeyEntry[] | undefined;
  createLimiter(name: string, quota: number): RateLimiter;
  /** Opens a database, whose `ping` pings those of all processes; a file needs the write lease. */
  openDatabase(open: () => Promise<Database>, needsLease: boolean): Promise<Database>;
  shareMetrics: ShareMetrics;
}

/** For a service of one process: all state is local. */
export const NO_SIBLINGS: Siblings = {
  createLimiter: (_name, quota) => new LocalRateLimiter(quota),
  openDatabase: (open) => open(),
  shareMetrics: (own) => own,
};

/** Connects to the supervisor at the other end of `port`, which may call `functions`. */
export function joinSupervisor(
  port: Port,
  functions: Pick<MemberFunctions, 'listen' | 'reloadKeys' | 'close'>,
): Siblings {
  let database: Database | undefined;
  let metrics: () => Promise<Snapshot> = async () => NO_METRICS;
  const supervisor = new Channel<SupervisorFunctions>(port, {
    ...functions,
    leaseWanted: () => lease.releaseWhenIdle(),
    ping: () => database?.ping(),
    metrics: () => metrics(),
  } satisfies Record<keyof MemberFunctions, unknown>);
  supervisor.notify('ready');
  const lease = new WriteLease(
    () => supervisor.call('acquireLease'),
    () => supervisor.notify('releaseLease'),
  );
  const limiters = new Batcher<LimiterCall, Quota>({
    run: (batch) => supervisor.call('limit', batch),
  });

  return {
    createLimiter: (limiter, quota) => ({
      take: (client, count = 1) => limiters.submit({ limiter, quota, client, count, take: true }),
      peek: (client, count = 1) => limiters.submit({ limiter, quota, client, count, take: false }),
    }),

    shareMetrics(own) {
      metrics = own;
      return () => supervisor.call('allMetrics');
    },

    async openDatabase(open, needsLease) {
      // Opening can write: it creates and migrates the database.
      const opened = await (needsLease ? lease.use(open) : open());
      database = opened;
      const shared: Database = { ...opened, ping: () => supervisor.call('pingAll') };
      if (!needsLease) return shared;
      return {
        ...shared,
        // Ignores an error of the lease, because `transact` will reject with one.
        writable: () => lease.acquire().catch(() => {}),
        transact: (batchId, statements) => lease.use(() => opened.transact(batchId, statements)),
        // One after the other, because the last connection to close checkpoints the log.
        close: () => lease.use(() => opened.close()),
      };
    },
  };
}
