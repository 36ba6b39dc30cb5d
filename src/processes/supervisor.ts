// The first of several processes: it starts those that serve, replaces one that dies, and keeps what they have in common.
// It serves nothing itself, so that nothing a client sends can end it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type KeySource, type Keys, loadKeys } from '../guards/keys.ts';
import { createRateLimiter, type Quota, type RateLimiter } from '../guards/rate-limit.ts';
import type { Log } from '../log.ts';
import { type Child, startChild } from './child.ts';
import { createCounts } from './counts.ts';
import type { Count } from './protocol.ts';
import { createTurns } from './turns.ts';

/** What there is to supervise. */
export interface SupervisorOptions {
  readonly processes: number;
  readonly host: string;
  readonly port: number;
  /** The command line of the processes, but for how many there are. */
  readonly args: readonly string[];
  /** Where their keys come from, if they are in a file. */
  readonly keySource: KeySource | undefined;
}

/** A service of several processes; it is started and stopped as an app is. */
export interface Supervisor {
  /** Resolves with the URL once all processes accept requests; rejects as the app of the first that could not. */
  listen(): Promise<string>;
  /** Has all processes read the file of keys again, as an app does; whoever cannot is replaced. */
  reloadKeys(): Promise<number>;
  /** Resolves when all processes have ended; rejects if one of those that served did not end well. */
  close(): Promise<void>;
}

/** When a process that has ended is replaced: at once, but ever later as long as each ends soon after its start. */
const REPLACEMENT = { soonMs: 1_000, firstDelayMs: 100, longestDelayMs: 5_000 };

/** How long a process may take to end: longer than an app does that waits for requests and for the database. */
const CLOSE_MS = 20_000;

/** How long a process may take to tell what it has counted. */
const COUNTS_MS = 1_000;

/** Returns the supervisor of `processes` processes, which run the same command as this one. */
export function createSupervisor(options: SupervisorOptions, log: Log): Supervisor {
  /** All there are, and those of them that serve. */
  const members = new Set<Child>();
  const serving = new Set<Child>();
  const turns = createTurns<Child>({
    tell: ({ channel }) => channel.tell('turnWanted'),
    reach: ({ channel }) => channel.call('turnWanted'),
  });
  const counts = createCounts<Child>(({ channel }) => channel.call('counts'), COUNTS_MS);
  const limiters = new Map<string, RateLimiter<Quota>>();
  const stop = new AbortController();
  let port = options.port;
  let keys: Keys | undefined;
  let reloads = 0;

  function start(): Child {
    const member: Child = startChild(
      {
        askTurn: () => turns.ask(member),
        passTurn: () => turns.pass(member),
        count: (counts) => counts.map(count),
        pingAll,
        countsOfAll: () => counts.ofAll(serving),
      },
      () => {
        members.delete(member);
        serving.delete(member);
        turns.pass(member);
        counts.ended(member);
      },
    );
    members.add(member);
    return member;
  }

  /** Starts one and has it listen. */
  async function startServing(): Promise<{ member: Child; url: string }> {
    const member = start();
    const reloadsBefore = reloads;
    try {
      await member.begun;
      stop.signal.throwIfAborted();
      const url = await member.channel.call('listen', port);
      serving.add(member);
      // It may have read its keys before they changed.
      if (reloads > reloadsBefore) await reload(member);
      return { member, url };
    } catch (error) {
      if (!stop.signal.aborted) member.kill();
      await member.ended;
      throw error;
    }
  }

  /** Sees to it that there is a process in the place of `member`, until the stop. */
  async function keepServing(member: Child): Promise<void> {
    let current: Child | undefined = member;
    let delayMs = 0;
    while (!stop.signal.aborted) {
      const since = performance.now();
      if (current) {
        const status = await current.ended;
        if (stop.signal.aborted) return;
        log.write('error', 'process ended', { ended: current.pid, status });
      }
      const wasSoon = performance.now() - since < REPLACEMENT.soonMs;
      delayMs = wasSoon ? Math.min(Math.max(2 * delayMs, REPLACEMENT.firstDelayMs), REPLACEMENT.longestDelayMs) : 0;
      await delay(delayMs, undefined, { signal: stop.signal }).catch(() => {});
      current = await restart();
    }
  }

  async function restart(): Promise<Child | undefined> {
    if (stop.signal.aborted) return undefined;
    try {
      const { member } = await startServing();
      log.write('info', 'process replaced', { started: member.pid });
      return member;
    } catch (error) {
      if (!stop.signal.aborted) log.write('error', 'no process could be started', { error });
      return undefined;
    }
  }

  function count({ limiter, quota, client, take }: Count): Quota {
    const known = limiters.get(limiter) ?? createRateLimiter(quota);
    limiters.set(limiter, known);
    return take ? known.take(client) : known.look(client);
  }

  async function pingAll(): Promise<void> {
    await Promise.all(
      [...serving].map((member) =>
        // One that died meanwhile is no part of the whole any more.
        member.channel.call('ping').catch((error) => serving.has(member) && Promise.reject(error)),
      ),
    );
  }

  /** What cannot read the keys now has others than the rest, or none: it is ended, and another one begins with them. */
  async function reload(member: Child): Promise<void> {
    await member.channel.call('reloadKeys').catch(() => member.kill());
  }

  async function close(): Promise<void> {
    stop.abort();
    const served = new Set(serving);
    const endings = [...members].map(async (member) => {
      const timer = setTimeout(member.kill, CLOSE_MS);
      await member.begun;
      member.channel.tell('close');
      const status = await member.ended;
      clearTimeout(timer);
      // One that had not begun to serve may have been ended by the same signal as the whole.
      return served.has(member) && status !== 0 ? [status] : [];
    });
    const failed = (await Promise.all(endings)).flat();
    if (failed.length > 0) throw new Error(`of ${endings.length} processes some did not end well: ${failed}`);
  }

  return {
    async listen() {
      try {
        keys = options.keySource && (await loadKeys(options.keySource));
        if (port === 0) port = await freePort(options.host);
        // "auto" may be another number by the time that one is replaced.
        cluster.setupPrimary({ args: [...options.args, `--processes=${options.processes}`] });
        // The first alone: what cannot be done is told once, and the file is made by one of them.
        const first = await startServing();
        const others = await Promise.all(Array.from({ length: options.processes - 1 }, startServing));
        for (const { member } of [first, ...others]) keepServing(member);
        return first.url;
      } catch (error) {
        await close().catch(() => {});
        throw error;
      }
    },

    async reloadKeys() {
      // What cannot be used is found out before anybody tries.
      const count = (await keys?.reload()) ?? 0;
      reloads += 1;
      await Promise.all([...serving].map(reload));
      return count;
    },

    close,
  };
}

/** All processes are to have the same port, those that replace others too: it is chosen before the first has it. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
