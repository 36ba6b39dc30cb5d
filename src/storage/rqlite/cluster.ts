// Sends statements to an rqlite cluster over HTTP: to the leader, if it is known, or else to one
// node after the other until one answers. Everything sent here must be safe to repeat.
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, type Row } from '../database.ts';
import type { ParsedCluster } from '../location.ts';

/** The nodes of a cluster and the credentials for it. */
export type ClusterAddress = Pick<ParsedCluster, 'nodes' | 'user'> & {
  readonly password: string | undefined;
};

/** How long to wait for a cluster. */
export const CLUSTER_LIMITS = {
  /** The time for one node, and for any node, to answer. A body adds its length / `bytesPerMs`. */
  nodeMs: 2_000,
  clusterMs: 10_000,
  /** The time to compare the nodes, and for one of them to answer meanwhile. */
  comparisonMs: 5_000,
  comparedNodeMs: 1_000,
  /** After such a time without an answer, another node may have led meanwhile, unnoticed. */
  quietMs: 500,
  /** For how long a leader that has missed writes is not asked again. */
  refusalMs: 1_000,
  bytesPerMs: 256,
  firstPauseMs: 20,
  maxPauseMs: 400,
};

/** An SQL statement and its parameters. */
export type Step = readonly [sql: string, ...parameters: (string | number)[]];

/** The result of a statement. */
export interface Result {
  readonly rows?: readonly Row[] | null;
  readonly last_insert_id?: number;
  readonly error?: string;
}

/** The results from the leader. */
export interface Reply {
  readonly results: readonly Result[];
  /** The index of the entry in the Raft log, if there is one and the path asks for it. */
  readonly index: number | undefined;
  readonly node: string;
  /** The value of {@link Cluster.leadership} when the leader answered. */
  readonly leadership: number;
}

type Answer = Awaited<ReturnType<typeof receive>>;

/** What SQLite reports if a node cannot carry out what other nodes may carry out. */
const NODE_FAILURE =
  /\b(?:disk is full|disk I\/O error|unable to open|readonly|malformed|locked|busy|memory)\b/;

/** Whether only this node may have failed, and not the statement. */
export function isNodeFailure(error: string): boolean {
  return NODE_FAILURE.test(error);
}

/** A connection to a cluster. Nothing is sent before the first call. */
export class Cluster {
  readonly nodes: readonly string[];
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #headers: OutgoingHttpHeaders;
  #leader: string | undefined;
  #leadership = 0;
  #attempts = 0;

  constructor({ nodes, user, password }: ClusterAddress) {
    const isSecure = nodes.some((node) => node.startsWith('https:'));
    const credentials = Buffer.from(`${user}:${password ?? ''}`).toString('base64');
    this.nodes = nodes;
    this.#agent = new (isSecure ? https : http).Agent({ keepAlive: true });
    this.#request = isSecure ? https.request : http.request;
    this.#headers = {
      'content-type': 'application/json',
      ...(user === undefined ? {} : { authorization: `Basic ${credentials}` }),
    };
  }

  /** A number that changes whenever another node may have become the leader. */
  get leadership(): number {
    return this.#leadership;
  }

  /** Resolves with the results. After DatabaseUnavailable, a node may have carried them out. */
  async send(path: string, steps: readonly Step[]): Promise<Reply> {
    const { nodeMs, clusterMs, bytesPerMs, firstPauseMs, maxPauseMs } = CLUSTER_LIMITS;
    const body = JSON.stringify(steps);
    const bodyMs = Math.ceil(Buffer.byteLength(body) / bytesPerMs);
    const deadline = performance.now() + clusterMs + bodyMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      let cause: unknown;
      try {
        if (this.#leader === undefined) this.#attempts += 1;
        const node = this.#leader ?? this.nodes[this.#attempts % this.nodes.length] ?? '';
        const answer = await this.#post(`${node}${path}`, body, nodeMs + bodyMs);
        const found = resultsOf(answer, steps.length);
        this.#follow(found ? node : originOf(answer.location));
        if (found) return { ...found, node, leadership: this.#leadership };
      } catch (error) {
        if (error instanceof DatabaseUnavailable) throw error;
        cause = error;
        this.#follow(undefined);
      }
      if (performance.now() + pauseMs > deadline)
        throw new DatabaseUnavailable('no node of the cluster has answered in time', { cause });
      // Randomized, so that all clients of a lost leader do not ask the next one at once.
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  /** Resolves with the result of one node, which need not be the leader. */
  async ask(node: string, path: string, step: Step): Promise<Result | undefined> {
    const body = JSON.stringify([step]);
    const answer = await this.#post(`${node}${path}`, body, CLUSTER_LIMITS.comparedNodeMs);
    return resultsOf(answer, 1)?.results[0];
  }

  /** Asks the leader to let another node lead. With credentials, it needs permission to do so. */
  async replaceLeader(leader: string): Promise<void> {
    await this.#post(`${leader}/leader`, '{}', CLUSTER_LIMITS.nodeMs).catch(() => {});
  }

  close(): void {
    this.#agent.destroy();
  }

  #follow(leader: string | undefined): void {
    if (leader !== this.#leader) this.#leadership += 1;
    this.#leader = leader;
  }

  #post(url: string, body: string, limitMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(limitMs);
      const options = { agent: this.#agent, method: 'POST', headers: this.#headers, signal };
      this.#request(url, options)
        .on('error', reject)
        .on('response', (response) => void receive(response).then(resolve, reject))
        .end(body);
    });
  }
}

async function receive(response: IncomingMessage) {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, location: response.headers.location, text };
}

/** Returns the results in an answer; undefined for a redirect. Throws if the node failed. */
function resultsOf(
  { status, text }: Answer,
  count: number,
): Pick<Reply, 'results' | 'index'> | undefined {
  if (status === 301) return undefined;
  if (status === 401)
    throw new DatabaseUnavailable('the cluster rejects the user name or the password');
  if (status !== 200) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
  const answer: { results?: readonly Result[]; error?: string; raft_index?: number } =
    JSON.parse(text);
  const { results, error, raft_index: index } = answer;
  // Sent again, it could be carried out in another order than by the other nodes.
  if (error !== undefined && isNodeFailure(error)) return { results: [{ error }], index };
  if (error !== undefined || !results) throw new Error(error ?? 'an answer without results');
  // After the first error of a transaction, the other results are missing.
  if (results.length !== count && !results.some((result) => result.error))
    throw new Error('an answer with too few results');
  return { results, index };
}

function originOf(location = ''): string | undefined {
  return URL.canParse(location) ? new URL(location).origin : undefined;
}
