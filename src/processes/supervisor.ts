// The first of several processes. It starts the members, replaces those that die, and manages what
// they share. It serves no requests itself, so that no request can crash it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeySource } from '../guards/key-file.ts';
import { type Keys, loadKeys } from '../guards/keys.ts';
import { LocalRateLimiter, type Quota } from '../guards/rate-limit.ts';
import type { Log } from '../log/log.ts';
import { Child } from './child.ts';
import { LeaseQueue } from './lease.ts';
import type { LimiterCall, Report } from './protocol.ts';

/** How the metrics of several processes become one report. */
export interface Reports {
  /** Measures this process from now on; returns a function that resolves with its report. */
  measure(): () => Promise<Report>;
  combine(reports: readonly Report[]): Promise<Report>;
  /** Returns what outlives a process. */
  countersOf(report: Report): Report;
}

export interface SupervisorOptions extends KeySource {
  readonly processes: number;
  readonly host: string;
  readonly port: number;
  readonly socket: string | undefined;
}

/** How long a process may take to stop: longer than an App waits for requests and its database. */
const CLOSE_MS = 20_000;

/** How much later than another process this one may handle a signal to both. */
const SIGNAL_MS = 100;

/** The time before another attempt to replace a process that has lived for less than this time. */
const RETRY_MS = 1_000;

/** A service of several processes, with the same interface as an App. */
export class Supervisor {
  /** The URL once all processes accept requests. */
  address = '';
  readonly #options: SupervisorOptions;
  readonly #log: Log;
  readonly #members = new Set<Child>();
  readonly #serving = new Set<Child>();
  readonly #limiters = new Map<string, LocalRateLimiter>();
  readonly #leases = new LeaseQueue<Child>(({ channel }) => {
    // If it has ended, it no longer has the lease.
    channel.leaseWanted.asEvent().catch(() => {});
  });
  readonly #stop = new AbortController();
  #port: number;
  #keys: Keys | undefined;
  readonly #reports: Reports | undefined;
  /** The counters of all members that have ended. */
  #endedMetrics: Promise<Report | undefined> = Promise.resolve(undefined);
  #own: (() => Promise<Report>) | undefined;

  constructor(options: SupervisorOptions, log: Log, reports?: Reports) {
    this.#options = options;
    this.#log = log;
    this.#reports = reports;
    this.#port = options.port;
  }

  async start(): Promise<void> {
    const { processes } = this.#options;
    try {
      this.#keys = await loadKeys(this.#options);
      // Pass a fixed number: `auto` could yield another one when a replacement starts.
      cluster.setupPrimary({ args: [...process.argv.slice(2), `--processes=${processes}`] });
      // Start one process first, so that one alone creates the database and errors appear once.
      const first = await this.#startFirst();
      const others = Array.from({ length: processes - 1 }, () => this.#startServing());
      for (const member of [first, ...(await Promise.all(others))]) void this.#keepServing(member);
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  get keyCount(): number {
    return this.#keys?.entries.length ?? 0;
  }

  /** Makes all processes reload their keys; resolves with the count. Replaces those that fail. */
  async reloadKeys(): Promise<number> {
    // Rejects here if the file is unusable, before any process gets its keys.
    const count = (await this.#keys?.reload()) ?? 0;
    // A process that starts meanwhile has the keys of before.
    await Promise.all([...this.#members].map((member) => this.#reload(member)));
    return count;
  }

  /** Resolves when all processes have ended; rejects if a serving process failed to stop. */
  async close(): Promise<void> {
    this.#stop.abort();
    const served = new Set(this.#serving);
    const endings = [...this.#members].map(async (member) => {
      const timer = setTimeout(() => member.child.kill('SIGKILL'), CLOSE_MS);
      member.child.kill('SIGTERM');
      const status = await member.ended;
      clearTimeout(timer);
      // A process that does not serve yet may die of the signal that stops this one.
      return served.has(member) && status !== 0 ? [status] : [];
    });
    const failed = (await Promise.all(endings)).flat();
    if (failed.length > 0)
      throw new Error(`${failed.length} of ${endings.length} processes failed to stop: ${failed}`);
  }

  async #startFirst(): Promise<Child> {
    const { host, port, socket } = this.#options;
    if (port !== 0 || socket !== undefined) return this.#startServing();
    for (;;) {
      this.#port = await freePort(host);
      try {
        return await this.#startServing();
      } catch (error) {
        // Another program has taken the port meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  async #startServing(): Promise<Child> {
    const keys = this.#keys?.entries;
    const member: Child = new Child({
      acquireLease: () => this.#leases.acquire(member),
      releaseLease: () => this.#leases.release(member),
      limit: (calls) => calls.map((call) => this.#limit(call)),
      pingAll: () => this.#pingAll(),
      allMetrics: () => this.#collectMetrics(),
      takePlace: (client) => this.#takePlace(client, member),
      freePlace: (client) => void member.places.delete(client),
    });
    void member.ended.then(() => {
      this.#members.delete(member);
      this.#serving.delete(member);
      this.#leases.release(member);
      this.#endedMetrics = this.#endedMetrics.then((ended) =>
        this.#combine([ended, member.metrics && this.#reports?.countersOf(member.metrics)]),
      );
    });
    this.#members.add(member);
    try {
      await member.ready;
      this.#stop.signal.throwIfAborted();
      this.address = await member.channel.listen({ port: this.#port, keys });
      this.#serving.add(member);
      return member;
    } catch (error) {
      if (!this.#stop.signal.aborted) member.child.kill('SIGKILL');
      await member.ended;
      // If a signal to all processes has ended it, this one may hear of it only now.
      await delay(SIGNAL_MS);
      throw error;
    }
  }

  async #keepServing(first: Child): Promise<void> {
    const { signal } = this.#stop;
    let current: Child | undefined = first;
    for (;;) {
      const since = performance.now();
      if (current) {
        const status = await current.ended;
        if (signal.aborted) return;
        this.#log.write('error', 'process ended', { ended: current.child.pid, status });
      }
      if (performance.now() - since < RETRY_MS)
        await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      try {
        current = await this.#startServing();
        this.#log.write('info', 'process replaced', { started: current.child.pid });
      } catch (error) {
        current = undefined;
        if (!signal.aborted) this.#log.write('error', 'no process could be started', { error });
      }
    }
  }

  #takePlace(client: string, { places }: Child): boolean {
    const isTaken = [...this.#members].some((each) => each.places.has(client));
    if (!isTaken) places.add(client);
    return !isTaken;
  }

  #limit({ limiter, quota, client, count, take }: LimiterCall): Quota {
    const known = this.#limiters.get(limiter) ?? new LocalRateLimiter(quota);
    this.#limiters.set(limiter, known);
    return take ? known.take(client, count) : known.peek(client, count);
  }

  async #collectMetrics(): Promise<Report | undefined> {
    this.#own ??= this.#reports?.measure();
    await Promise.all([...this.#serving].map((member) => member.updateMetrics()));
    // At the same moment, so that a process that ends meanwhile counts once.
    const last = [...this.#serving].map(({ metrics }) => metrics);
    const ended = this.#endedMetrics;
    return this.#combine([...last, await ended, await this.#own?.()]);
  }

  async #combine(reports: readonly (Report | undefined)[]): Promise<Report | undefined> {
    return this.#reports?.combine(reports.filter((each) => each !== undefined));
  }

  async #pingAll(): Promise<void> {
    const pings = [...this.#serving].map((member) =>
      // Ignore a process that has died meanwhile.
      member.channel.ping().catch((error) => this.#serving.has(member) && Promise.reject(error)),
    );
    await Promise.all(pings);
  }

  /** Gives a process the keys. If that fails, replaces it, lest it accept outdated keys. */
  async #reload({ channel, child, ready }: Child): Promise<void> {
    const reloaded = ready.then(() => channel.reloadKeys(this.#keys?.entries));
    await reloaded.catch(() => child.kill('SIGKILL'));
  }
}

/** Chooses the port: for 0, Node would choose another one whenever all processes have died. */
async function freePort(host: string): Promise<number> {
  await using server = createServer().listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
