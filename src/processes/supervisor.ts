// The first of several processes. It starts the members, which serve, replaces one that dies, and
// keeps what they share. It serves nothing itself, so that no client can end it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type KeySource, type Keys, loadKeys } from '../guards/keys.ts';
import { LocalRateLimiter, type Quota } from '../guards/rate-limit.ts';
import type { Log } from '../log/log.ts';
import { type Child, startChild } from './child.ts';
import { Counts } from './counts.ts';
import { LeaseQueue } from './lease-queue.ts';
import type { Count, SupervisorFunctions } from './protocol.ts';
import { keepReplacing } from './replacement.ts';

/** What a supervisor depends on. */
export interface SupervisorOptions {
  readonly processes: number;
  readonly host: string;
  readonly port: number;
  /** The command line of the members, without the number of processes. */
  readonly args: readonly string[];
  /** Where their keys come from, if they are in a file. */
  readonly keySource: KeySource | undefined;
}

/**
 * How long a process may take to stop: longer than an app that waits for its requests and its
 * database.
 */
const CLOSE_MS = 20_000;

/** How long a process may take to report its metrics. */
const COUNTS_MS = 1_000;

/** A service of several processes; it is started and stopped as an app is. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #log: Log;
  readonly #members = new Set<Child>();
  readonly #serving = new Set<Child>();
  readonly #limiters = new Map<string, LocalRateLimiter>();
  readonly #leases = new LeaseQueue<Child>({
    notify: ({ channel }) => channel.tell('leaseWanted'),
    reach: ({ channel }) => channel.call('leaseWanted'),
  });
  readonly #counts = new Counts(COUNTS_MS);
  readonly #stop = new AbortController();
  #port: number;
  #keys: Keys | undefined;
  #reloads = 0;

  constructor(options: SupervisorOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    this.#port = options.port;
  }

  /**
   * Resolves with the URL once all processes accept requests; rejects as the app of the first that
   * could not.
   */
  async listen(): Promise<string> {
    const { host, processes, args, keySource } = this.#options;
    try {
      this.#keys = keySource && (await loadKeys(keySource));
      if (this.#port === 0) this.#port = await freePort(host);
      // With "auto" a replacement might find another number of cores.
      cluster.setupPrimary({ args: [...args, `--processes=${processes}`] });
      // One first: it alone creates the file, and an error is reported once.
      const first = await this.#startServing();
      const others = await Promise.all(
        Array.from({ length: processes - 1 }, () => this.#startServing()),
      );
      for (const { member } of [first, ...others]) this.#keepServing(member);
      return first.url;
    } catch (error) {
      await this.close().catch(() => {});
      throw error;
    }
  }

  /**
   * Makes all processes read the file of keys again; resolves with the number of keys. One that
   * fails is replaced.
   */
  async reloadKeys(): Promise<number> {
    // An unusable file is found before any process tries.
    const count = (await this.#keys?.reload()) ?? 0;
    this.#reloads += 1;
    await Promise.all([...this.#serving].map((member) => this.#reload(member)));
    return count;
  }

  /** Resolves when all processes have ended; rejects if one that served ended with a failure. */
  async close(): Promise<void> {
    this.#stop.abort();
    const served = new Set(this.#serving);
    const endings = [...this.#members].map(async (member) => {
      const timer = setTimeout(member.kill, CLOSE_MS);
      await member.begun;
      member.channel.tell('close');
      const status = await member.ended;
      clearTimeout(timer);
      // A process that did not serve yet may have been ended by the same signal as this one.
      return served.has(member) && status !== 0 ? [status] : [];
    });
    const failed = (await Promise.all(endings)).flat();
    if (failed.length > 0)
      throw new Error(`${failed.length} of ${endings.length} processes failed to stop: ${failed}`);
  }

  #start(): Child {
    const functions: Omit<SupervisorFunctions, 'begun'> = {
      acquireLease: () => this.#leases.acquire(member),
      releaseLease: () => this.#leases.release(member),
      count: (counts) => counts.map((each) => this.#count(each)),
      pingAll: () => this.#pingAll(),
      countsOfAll: () => this.#counts.ofAll(this.#serving),
    };
    const member = startChild(functions, () => {
      this.#members.delete(member);
      this.#serving.delete(member);
      this.#leases.release(member);
      this.#counts.ended(member);
    });
    this.#members.add(member);
    return member;
  }

  async #startServing(): Promise<{ member: Child; url: string }> {
    const member = this.#start();
    const reloadsBefore = this.#reloads;
    try {
      await member.begun;
      this.#stop.signal.throwIfAborted();
      const url = await member.channel.call('listen', this.#port);
      this.#serving.add(member);
      // It may have read its keys before they changed.
      if (this.#reloads > reloadsBefore) await this.#reload(member);
      return { member, url };
    } catch (error) {
      if (!this.#stop.signal.aborted) member.kill();
      await member.ended;
      throw error;
    }
  }

  #keepServing(member: Child): Promise<void> {
    return keepReplacing(member, {
      start: () => this.#startReplacement(),
      onEnd: ({ pid }, status) => this.#log.write('error', 'process ended', { ended: pid, status }),
      signal: this.#stop.signal,
    });
  }

  async #startReplacement(): Promise<Child | undefined> {
    try {
      const { member } = await this.#startServing();
      this.#log.write('info', 'process replaced', { started: member.pid });
      return member;
    } catch (error) {
      if (!this.#stop.signal.aborted)
        this.#log.write('error', 'no process could be started', { error });
      return undefined;
    }
  }

  #count({ limiter, quota, client, take }: Count): Quota {
    const known = this.#limiters.get(limiter) ?? new LocalRateLimiter(quota);
    this.#limiters.set(limiter, known);
    return take ? known.take(client) : known.look(client);
  }

  async #pingAll(): Promise<void> {
    const pings = [...this.#serving].map((member) =>
      // A process that has died meanwhile no longer counts.
      member.channel
        .call('ping')
        .catch((error) => this.#serving.has(member) && Promise.reject(error)),
    );
    await Promise.all(pings);
  }

  /**
   * A process that cannot read the keys would have other keys than the rest: it is ended and
   * replaced.
   */
  async #reload(member: Child): Promise<void> {
    await member.channel.call('reloadKeys').catch(() => member.kill());
  }
}

/** Chooses one port for all processes, also for those that replace others. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
