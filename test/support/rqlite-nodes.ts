// Starts real rqlite nodes on this machine. NOTES_TEST_RQLITED is the path of the program; if it is
// not set, there are no such nodes.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../../src/rqlite/cluster.ts';
import { clusterAddress, type Ends } from './engine.ts';
import { lastingPorts } from './ports.ts';
import { until } from './until.ts';

/** The path of rqlited, if the tests have one. */
export const RQLITED = process.env.NOTES_TEST_RQLITED || undefined;

/** Why tests of real nodes are skipped; false if they are not. */
export const needsRqlited = RQLITED ? false : 'NOTES_TEST_RQLITED names no rqlited';

/** A node that runs until it is stopped. */
export interface RealNode {
  readonly url: string;
  /** Sends a signal; for one that ends the node, resolves when it has ended. */
  signal(signal: NodeJS.Signals): Promise<void>;
  restart(): Promise<void>;
  /** Starts the node, which must have ended, with an empty folder. */
  joinAgain(): Promise<void>;
  /** Returns its Raft state, such as Leader; undefined if it does not answer. */
  state(): Promise<string | undefined>;
}

/** A cluster of real nodes. */
export interface RealCluster {
  readonly nodes: readonly RealNode[];
  /** Its address, as `--db` takes it. */
  readonly db: string;
  nodeWhichIs(state: string): Promise<RealNode>;
  stop(): Promise<void>;
}

/** Elections of half a second instead of two. */
const FAST = [
  ...['-raft-timeout', '250ms', '-raft-election-timeout', '250ms', '-raft-leader-lease-timeout'],
  '125ms',
];

/** How a cluster is started. */
export interface ClusterParts {
  readonly elections?: 'fast' | 'default';
  /** Returns the port at which other nodes reach the node listening on `port`. Default: `port`. */
  readonly wayTo?: (port: number) => Promise<number>;
  /** Returns the folder of a node, and more arguments for it. Default: a folder of its own. */
  readonly partsOf?: (place: number) => { folder?: string; args?: readonly string[] };
}

/** Starts `count` nodes; resolves when all are ready. They end with this process at the latest. */
export async function startNodes(
  count: number,
  { elections = 'fast', wayTo, partsOf = () => ({}) }: ClusterParts = {},
): Promise<RealCluster> {
  assert.ok(RQLITED);
  const program = RQLITED;
  const folder = mkdtempSync(join(tmpdir(), 'notes-server-rqlite-'));
  // A client that tries again and again must not get the port of a node that is down.
  const ports = await lastingPorts(2 * count);
  const ways = await Promise.all(
    ports.map((port, place) => (place % 2 === 1 && wayTo ? wayTo(port) : port)),
  );
  const children = new Set<ChildProcess>();
  const endAll = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  const endAtExit = () => {
    endAll();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', endAtExit);

  async function startNode(place: number): Promise<RealNode> {
    const [http, raft] = [ports[2 * place], ports[2 * place + 1]];
    const url = `http://127.0.0.1:${http}`;
    const { folder: data = join(folder, String(place)), args = [] } = partsOf(place);
    const own = [
      ...['-node-id', String(place + 1), '-fk', '-http-addr', `127.0.0.1:${http}`],
      ...['-raft-addr', `127.0.0.1:${raft}`, '-raft-adv-addr', `127.0.0.1:${ways[2 * place + 1]}`],
    ];
    const log = join(folder, `${place}.log`);
    let child: ChildProcess;

    function launch(others: readonly string[]): void {
      const output = openSync(log, 'a');
      child = spawn(
        program,
        [...own, ...args, ...(elections === 'fast' ? FAST : []), ...others, data],
        { stdio: ['ignore', output, output] },
      );
      closeSync(output);
      child.unref();
      children.add(child);
    }

    async function start(others: readonly string[]): Promise<void> {
      launch(others);
      try {
        await until(async () => {
          // Another program may have its port for a moment.
          if (!isRunning(child)) await delay(100).then(() => launch(others));
          return isReady(url);
        });
      } catch (error) {
        throw new Error(`not ready: ${readFileSync(log, 'utf8').slice(-2_000)}`, { cause: error });
      }
    }
    await start(place > 0 ? ['-join', `127.0.0.1:${ways[1]}`] : []);

    return {
      url,
      async signal(signal) {
        child.kill(signal);
        if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended(child);
      },
      // The node knows the others from its folder.
      restart: () => start([]),
      joinAgain: async () => {
        rmSync(data, { recursive: true });
        const others = ways.filter((_, way) => way % 2 === 1 && way !== 2 * place + 1);
        await start(['-join', others.map((way) => `127.0.0.1:${way}`).join(',')]);
      },
      state: () => stateOf(url),
    };
  }

  const nodes: RealNode[] = [];
  for (let place = 0; place < count; place += 1) nodes.push(await startNode(place));
  return {
    nodes,
    db: clusterAddress(nodes.map(({ url }) => url)),
    async nodeWhichIs(state) {
      let states: (string | undefined)[] = [];
      await until(async () => {
        states = await Promise.all(nodes.map((node) => node.state()));
        return states.includes(state);
      });
      return nodes[states.indexOf(state)] ?? assert.fail();
    },
    async stop() {
      process.off('exit', endAtExit);
      const running = [...children].filter(isRunning);
      const allEnded = Promise.all(running.map(ended));
      endAll();
      await allEnded;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Does as {@link startNodes}; the nodes end with the test. */
export async function startCluster(
  test: Ends,
  count: number,
  parts?: ClusterParts,
): Promise<RealCluster> {
  const cluster = await startNodes(count, parts);
  test.after(() => cluster.stop());
  return cluster;
}

/** Makes a node the leader. */
export async function makeLeader(cluster: RealCluster, node: RealNode): Promise<void> {
  const body = JSON.stringify({ id: String(cluster.nodes.indexOf(node) + 1) });
  await until(async () => {
    const leader = await cluster.nodeWhichIs('Leader');
    if (leader === node) return true;
    const headers = { 'content-type': 'application/json' };
    await fetch(`${leader.url}/leader?wait`, { method: 'POST', headers, body }).catch(() => {});
    return false;
  });
}

/** Kills the leader of a cluster, and starts it again when another node leads. */
export async function replaceLeader(cluster: RealCluster): Promise<void> {
  const leader = await cluster.nodeWhichIs('Leader');
  await leader.signal('SIGKILL');
  await cluster.nodeWhichIs('Leader');
  await leader.restart();
}

/** The tables in the order in which they can be dropped: what refers to a table comes before it. */
const TABLES = `
  SELECT list.name FROM pragma_table_list AS list JOIN sqlite_schema USING (name)
  WHERE schema = 'main' AND list.type IN ('table', 'virtual') AND list.name NOT LIKE 'sqlite%'
  ORDER BY sqlite_schema.rowid DESC`;

/** Removes all data of a cluster. */
export async function wipe(nodes: readonly string[]): Promise<void> {
  using cluster = new Cluster({ nodes, user: undefined, password: undefined });
  const { results } = await cluster.send('/db/query?associative&redirect&level=linearizable', [
    [TABLES],
  ]);
  const drops = (results[0]?.rows ?? []).map(({ name }): [string] => [`DROP TABLE ${name}`]);
  // A node refuses a request without statements.
  if (drops.length > 0) await cluster.send('/db/execute?transaction&redirect', drops);
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Resolves when the process has ended; until this call it does not keep the tests running. */
async function ended(child: ChildProcess): Promise<void> {
  child.ref();
  await once(child, 'exit');
}

async function stateOf(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${url}/status`, { signal: AbortSignal.timeout(1_000) });
    return ((await answer.json()) as { store: { raft: { state: string } } }).store.raft.state;
  } catch {
    return undefined;
  }
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}
