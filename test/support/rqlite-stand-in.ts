// A simulated rqlite cluster on SQLite in memory: each node carries out all writes, one is the
// leader, and they have the answers, quirks and failures of rqlited 8.43.4.
import EventEmitter, { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import sqlite3 from 'sqlite3';
import { CLUSTER_LIMITS } from '../../src/rqlite/cluster.ts';
import type { Ends } from './engine.ts';
import { setLimits } from './overload.ts';
import { until } from './until.ts';

type Kind = 'execute' | 'query' | 'backup';

/** A fault of a request. */
export type Fault =
  /** Carried out, and the connection breaks before the answer. */
  | 'lost answer'
  /** Carried out, or not; the node reports that it does not know. */
  | 'leadership lost, done'
  | 'leadership lost, not done'
  | 'no leader'
  | 'not leader'
  | 'refused'
  | 'broken JSON'
  /** Neither carried out nor answered. */
  | 'hangs'
  /** Not answered, and carried out when the test releases it. */
  | 'held'
  /** A query is answered as if nothing had been written; a copy lacks the last change. */
  | 'stale'
  /** Carried out, and answered without results. */
  | 'empty'
  /** Carried out, and answered when the node has been pinged, or only begun before that. */
  | 'late'
  | 'halting'
  /** Carried out, and answered some time after a ping. */
  | 'slow'
  /** Refused, because the user lacks the permission. */
  | 'forbidden';

/** A cluster that runs until the end of the test. */
export interface StandIn {
  readonly nodes: readonly string[];
  /** The faults of the next requests; one may wait for a kind, or for what its SQL has. */
  readonly faults: {
    readonly fault: Fault | undefined;
    readonly of?: Kind;
    readonly has?: string;
  }[];
  readonly requests: { execute: number; query: number; backup: number };
  /** Those of them that a node has forwarded to the leader. */
  readonly forwarded: { execute: number; query: number; backup: number };
  readonly levels: string[];
  readonly parameters: unknown[];
  /** The paths of the requests that silent nodes have got. */
  readonly ignored: string[];
  /** Behaves from now on like nodes started without `-fk`. */
  forgetForeignKeys(): Promise<unknown>;
  elect(node: number | undefined): void;
  /** Whether clients may let another node lead. */
  mayReplaceLeader: boolean;
  /** Lets a node fail on the next write, as if its disk were full. */
  fillDisk(node: number): void;
  /** Lets a node wait for the next write before it answers a read of its own data. */
  delayReads(node: number): void;
  /** Changes the data of one node. */
  change(node: number, sql: string): Promise<unknown>;
  /** Carries out the requests that were held; resolves when this is done. */
  release(): Promise<unknown>;
  /** Stops the node with that number from answering, even a ping. */
  silence(node: number): void;
  /** Cuts the link from clients to a node, which the other nodes still reach; or mends it. */
  cutOff(node: number): void;
  mend(node: number): void;
}

type Step = readonly [sql: string, ...parameters: (string | number | null)[]];

const KINDS: Readonly<Record<string, Kind>> = { '/db/query': 'query', '/db/backup': 'backup' };

const SLOW_MS = 500;

const LOST = 'leadership lost while committing log';

/** Shortens the time limits of clusters until the end of the test. */
export function limitCluster(test: Ends, limits: Partial<typeof CLUSTER_LIMITS>): void {
  setLimits(test, CLUSTER_LIMITS, limits);
}

/** Starts a cluster of `count` nodes, with `credentials` and `tls` if they are given. */
export async function startStandIn(
  test: Ends,
  count = 1,
  credentials?: { readonly user: string; readonly password: string },
  tls?: { readonly key: string; readonly cert: string },
): Promise<StandIn> {
  const engines = await Promise.all(Array.from({ length: count }, openEngine));
  let leader: number | undefined = 0;
  // The log has an entry of each election.
  let index = 1;
  const full = new Set<number>();
  const slow = new Set<number>();
  const silent = new Set<number>();
  const cutOff = new Set<number>();
  const held: (() => Promise<unknown>)[] = [];
  const origins: string[] = [];
  const standIn: StandIn = {
    nodes: origins,
    faults: [],
    requests: { execute: 0, query: 0, backup: 0 },
    forwarded: { execute: 0, query: 0, backup: 0 },
    levels: [],
    forgetForeignKeys: () => Promise.all(engines.map((engine) => engine.forgetForeignKeys())),
    parameters: [],
    ignored: [],
    elect: (node) => {
      leader = node;
      index += 1;
    },
    mayReplaceLeader: false,
    delayReads: (node) => void slow.add(node),
    fillDisk: (node) => void full.add(node),
    change: async (node, sql) => engines[node]?.execute([[sql]]),
    silence: (node) => void silent.add(node),
    cutOff: (node) => void cutOff.add(node),
    mend: (node) => void cutOff.delete(node),
    release: () => Promise.all(held.splice(0).map((carryOutLate) => carryOutLate())),
  };

  /** Resolves when a node is pinged next. */
  const pings = new EventEmitter();

  function nextFault(kind: Kind, body: string): Fault | undefined {
    const [next] = standIn.faults;
    if (!next || (next.of && next.of !== kind) || !body.includes(next.has ?? '')) return undefined;
    standIn.faults.shift();
    return next.fault;
  }

  async function answer(asked: number, message: IncomingMessage, response: ServerResponse) {
    let node = asked;
    const { pathname, searchParams, search } = new URL(message.url ?? '', origins[node]);
    response.setHeader('x-rqlite-version', 'v8.43.4');
    const end = (status: number, text = '', headers: OutgoingHttpHeaders = {}) =>
      void response.writeHead(status, headers).end(text);
    if (silent.has(node) || cutOff.has(node)) return void standIn.ignored.push(pathname);
    if (pathname === '/readyz') {
      end(200);
      pings.emit('ping');
      return;
    }
    const kind = KINDS[pathname] ?? 'execute';
    const body = await textOf(message);
    if (pathname === '/leader') {
      if (standIn.mayReplaceLeader) standIn.elect((node + 1) % count);
      return end(standIn.mayReplaceLeader ? 200 : 401);
    }
    if (credentials && message.headers.authorization !== basic(credentials)) return end(401);
    // Reads of one node have no faults, and are not counted.
    const isLocal = searchParams.get('level') === 'none';
    if (!isLocal) standIn.requests[kind] += 1;
    const fault = isLocal ? undefined : nextFault(kind, body);
    if (fault === 'hangs') return;
    if (fault === 'forbidden') return end(401);
    if (fault === 'refused') return void message.socket.destroy();
    if (!isLocal && (leader === undefined || fault === 'no leader'))
      return end(500, 'leader not found');
    if (!isLocal && leader !== undefined && leader !== node) {
      // It asks the leader for its address.
      if (silent.has(leader)) return;
      if (searchParams.has('redirect'))
        return end(301, '', { location: `${origins[leader]}${pathname}${search}` });
      standIn.forwarded[kind] += 1;
      response.setHeader('x-rqlite-served-by', `raft-${leader}`);
      node = leader;
    }
    const failed = (error: string) => response.end(JSON.stringify({ results: [], error }));
    if (fault === 'not leader') return void failed('not leader');
    if (fault === 'leadership lost, not done') return void failed(LOST);
    if (kind === 'backup') return void response.end(await engines[node]?.backup(fault === 'stale'));
    const steps: Step[] = JSON.parse(body);
    standIn.parameters.push(...steps.flatMap(([, ...parameters]) => parameters));
    if (kind === 'query') standIn.levels.push(searchParams.get('level') ?? '');
    if (fault === 'held') return void held.push(() => carryOut(node, kind, pathname, steps));
    const { results, error, ...parts } = await carryOut(node, kind, pathname, steps);
    if (error !== undefined) failed(error);
    else if (fault === 'lost answer') message.socket.destroy();
    else if (fault === 'leadership lost, done') failed(LOST);
    else if (fault === 'stale')
      response.end(JSON.stringify({ results: results.map(() => ({ types: {}, rows: [] })) }));
    else if (fault === 'empty') response.end('{"results":[]}');
    else if (fault === 'broken JSON') response.end('{"results":');
    else {
      const text = JSON.stringify({ results, ...parts });
      if (fault === 'halting') response.write(text.slice(0, -9));
      if (fault === 'late' || fault === 'halting' || fault === 'slow') await once(pings, 'ping');
      if (fault === 'slow') await delay(SLOW_MS);
      response.end(fault === 'halting' ? text.slice(-9) : text);
    }
  }

  /** Resolves with what `node` answers. All nodes carry out writes, in the same order. */
  async function carryOut(
    node: number,
    kind: 'execute' | 'query',
    pathname: string,
    steps: readonly Step[],
  ): Promise<{ results: object[]; error?: string; raft_index?: number }> {
    const before = index;
    if (kind === 'query' && slow.has(node)) await until(() => index > before);
    if (kind === 'query') return { results: (await engines[node]?.query(steps)) ?? [] };
    index += 1;
    const raft_index = index;
    const answers = engines.map((engine, place) => {
      if (full.delete(place)) return { results: [], error: 'database or disk is full' };
      const carriedOut = engine.execute(steps, pathname !== '/db/execute');
      return carriedOut.then((results) => ({ results, raft_index }));
    });
    return (await Promise.all(answers))[node] ?? { results: [] };
  }

  for (let node = 0; node < count; node += 1) {
    const listener = (message: IncomingMessage, response: ServerResponse) =>
      void answer(node, message, response).catch((error) => {
        // A service that has given up sends no more.
        if (!message.destroyed) throw error;
      });
    const server = tls ? createSecureServer(tls, listener) : createServer(listener);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origins.push(`${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`);
    test.after(() => {
      server.close();
      server.closeAllConnections();
    });
  }
  test.after(() => Promise.all(engines.map((engine) => engine.close())));
  return standIn;
}

function basic({ user, password }: { readonly user: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += chunk;
  return text;
}

async function openEngine() {
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened: sqlite3.Database = new sqlite3.Database(':memory:', (error) =>
      error ? reject(error) : resolve(opened),
    );
  });
  let lane: Promise<unknown> = Promise.resolve();

  const all = (sql: string, parameters: readonly unknown[] = []) =>
    new Promise<object[]>((resolve, reject) => {
      // SQLite refuses parameters that a statement does not use; rqlite ignores them.
      const wanted = Math.max(
        0,
        ...[...sql.matchAll(/\?(\d+)/g)].map(([, number]) => Number(number)),
      );
      database.all<object>(sql, parameters.slice(0, wanted).map(asBlob), (error, rows) =>
        error ? reject(error) : resolve(rows.map(withTexts)),
      );
    });
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const done = lane.then(work);
    lane = done.catch(() => {});
    return done;
  };
  const isUnderstood = (sql: string) =>
    new Promise<boolean>((resolve) => {
      const statement: sqlite3.Statement = database.prepare(sql, (error: Error | null) => {
        if (error) resolve(false);
        else statement.finalize(() => resolve(true));
      });
    });
  const lastInsertId = async () =>
    (await all('SELECT last_insert_rowid() AS last_insert_id'))[0] ?? {};
  const errorOf = (error: unknown) => (error as Error).message.replace(/^SQLITE_[A-Z]+: /, '');
  await all('PRAGMA foreign_keys = ON');

  return {
    /**
     * Carries out steps in a transaction. A unified request returns rows, and commits the others
     * after a statement that SQLite cannot prepare.
     */
    execute: (steps: readonly Step[], isUnified = false) =>
      alone(async () => {
        const results: object[] = [];
        await all('BEGIN');
        for (const [sql, ...parameters] of steps) {
          try {
            const rows = await all(sql, parameters);
            // rqlite returns no rows of RETURNING and omits zeros; statements before a failure look
            // done.
            if (isUnified && /^\s*SELECT\b/i.test(sql)) results.push({ types: {}, rows });
            else results.push({ ...(await lastInsertId()), ...(isUnified && { rows: null }) });
          } catch (error) {
            results.push({ error: errorOf(error) });
            if (isUnified && !(await isUnderstood(sql))) continue;
            await all('ROLLBACK');
            return results;
          }
        }
        await all('COMMIT');
        return results;
      }),

    query: (steps: readonly Step[]) =>
      alone(() =>
        Promise.all(
          steps.map(([sql, ...parameters]) =>
            all(sql, parameters).then(
              (rows) => ({ types: {}, rows }),
              (error) => ({ rows: [], error: errorOf(error) }),
            ),
          ),
        ),
      ),

    backup: (isStale: boolean) =>
      alone(async () => {
        const addNumbers = (count: number) =>
          all(`UPDATE sqlite_sequence SET seq = seq + ${count} WHERE name = 'changes'`);
        const folder = mkdtempSync(join(tmpdir(), 'notes-server-stand-in-'));
        const path = join(folder, 'copy.db');
        if (isStale) await addNumbers(-1);
        await all('VACUUM INTO ?1', [path]);
        if (isStale) await addNumbers(1);
        const copy = readFileSync(path);
        rmSync(folder, { recursive: true });
        return copy;
      }),

    forgetForeignKeys: () => alone(() => all('PRAGMA foreign_keys = OFF')),

    close: () => alone(() => new Promise<void>((resolve) => database.close(() => resolve()))),
  };
}

/** rqlite sends a BLOB as a text if its column has a text in the first row, as ours have. */
function withTexts(row: object): object {
  const asText = (value: unknown) => (Buffer.isBuffer(value) ? value.toString() : value);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asText(value)]));
}

/** rqlite turns a text of the form x'41' into a BLOB. */
function asBlob(parameter: unknown): unknown {
  const hex = /^\s*x'([0-9a-f]*)'\s*$/i.exec(String(parameter))?.[1];
  return typeof parameter === 'string' && hex !== undefined ? Buffer.from(hex, 'hex') : parameter;
}
