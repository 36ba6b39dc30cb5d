// Several processes that act as one service. They share the write lease, rate limits, metrics and
// health: the supervisor process holds this state, and the others, which serve, call it.
import type { Quota, RateLimiter } from '../guards/rate-limit.ts';
import { Batcher } from '../storage/batcher.ts';
import type { Database } from '../storage/database.ts';
import { openChannel, type Port } from './channel.ts';
import { WriteLease } from './lease.ts';
import type { LimiterCall, MemberFunctions, Report, SupervisorFunctions } from './protocol.ts';
import { Supervisor } from './supervisor.ts';

/** Starts a service of several processes, each with the arguments of this one. */
export async function startSupervisor(...parts: ConstructorParameters<typeof Supervisor>) {
  const supervisor = new Supervisor(...parts);
  await supervisor.start();
  return supervisor;
}

/** Connects to the supervisor at the other end of `port`, which may call `functions`. */
export function joinSupervisor(
  port: Port,
  functions: Pick<MemberFunctions, 'listen' | 'reloadKeys'>,
) {
  let database: Database | undefined;
  let metrics: (() => Promise<Report>) | undefined;
  const supervisor = openChannel<SupervisorFunctions>(port, {
    ...functions,
    leaseWanted: () => lease.releaseWhenIdle(),
    ping: () => database?.ping(),
    metrics: () => metrics?.(),
  } satisfies Record<keyof MemberFunctions, unknown>);
  void supervisor.ready.asEvent();
  const lease = new WriteLease(
    () => supervisor.acquireLease(),
    () => void supervisor.releaseLease.asEvent(),
  );
  const limiters = new Batcher<LimiterCall, Quota>({
    run: (batch) => supervisor.limit(batch),
  });

  return {
    createLimiter: (limiter: string, quota: number): RateLimiter => ({
      take: (client, count = 1) => limiters.submit({ limiter, quota, client, count, take: true }),
      peek: (client, count = 1) => limiters.submit({ limiter, quota, client, count, take: false }),
    }),

    /** The places of clients, of which each has one in all processes. */
    places: {
      take: (client: string) => supervisor.takePlace(client),
      free: (client: string) => supervisor.freePlace(client),
    },

    /** Shares the metrics that `own` reads; returns a function that reads those of all. */
    shareMetrics<Own extends Report>(own: () => Promise<Own>): () => Promise<Own> {
      metrics = own;
      // All processes run the same program.
      return () => supervisor.allMetrics() as Promise<Own>;
    },

    /** Opens a database, whose `ping` pings those of all processes; a file needs the lease. */
    async openDatabase(open: () => Promise<Database>, needsLease: boolean): Promise<Database> {
      // Opening can write: it creates and migrates the database.
      const opened = await (needsLease ? lease.use(open) : open());
      database = opened;
      const shared: Database = { ...opened, ping: () => supervisor.pingAll() };
      if (!needsLease) return shared;
      return {
        ...shared,
        // Ignores an error of the lease, because `transact` will reject with one.
        writable: () => lease.acquire().catch(() => {}),
        transact: (statements) => lease.use(() => opened.transact(statements)),
        // One after the other, because the last connection to close checkpoints the log.
        close: () => lease.use(() => opened.close()),
      };
    },
  };
}
