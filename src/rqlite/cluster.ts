// Sends statements to an rqlite cluster over HTTP: to the leader, if it is known, or else to one
// node after the other until one answers. Everything sent here must be safe to repeat.
import http, {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AnswerTooLarge,
  DatabaseUnavailable,
  type Row,
  StorageError,
} from '../storage/database.ts';
import type { ParsedCluster } from './address.ts';

/** The nodes of a cluster and the credentials for it. */
export type ClusterAddress = Pick<ParsedCluster, 'nodes' | 'user'> & {
  readonly password: string | undefined;
};

export const CLUSTER_LIMITS = {
  /** A node that sends no byte for this time gets a ping, and has as long to answer that. */
  nodeMs: 1_000,
  /** The time for the next byte, if it has answered the ping. */
  slowMs: 4_000,
  /** The least rate at which it may receive a batch meanwhile. */
  bytesPerMs: 250,
  /** For how long a node that was given up is left out, unless it answers a ping. */
  silentMs: 5_000,
  /** The time to look for a node that answers. */
  clusterMs: 10_000,
  comparisonMs: 5_000,
  /** After such a time without an answer, another node may have led meanwhile, unnoticed. */
  quietMs: 500,
  /** How often the nodes are compared while there are requests. */
  recheckMs: 5_000,
  /** For how long a leader that has missed writes is not asked again. */
  refusalMs: 1_000,
  /** The time for calls in progress, and for a node to answer a ping, when the service stops. */
  stopMs: 500,
  firstPauseMs: 20,
  maxPauseMs: 400,
};

export type Step = readonly [sql: string, ...parameters: (string | number)[]];

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

/** What SQLite reports if a node cannot carry out what other nodes may carry out. */
export const NODE_FAILURE =
  /\b(?:disk is full|disk I\/O error|unable to open|readonly|malformed|locked|busy|memory)\b/;

const ASK = '/db/query?associative&level=none';

/** Answered by every node, even without a leader. */
const PING = '/readyz?noleader';

/** Every answer of rqlite has it. */
const VERSION_HEADER = 'x-rqlite-version';

class NodeSilent extends Error {}

const giveUp = (request: ClientRequest): void =>
  void request.destroy(new NodeSilent('the node is silent'));

/** A connection to a cluster. Nothing is sent before the first call. */
export class Cluster {
  readonly nodes: readonly string[];
  /** A number that changes whenever another node may have become the leader. */
  leadership = 0;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;
  readonly #headers: OutgoingHttpHeaders;
  #leader: string | undefined;
  #attempts = 0;
  /** When each node was given up. */
  readonly #silentAtMs = new Map<string, number>();
  /** Whether rqlite has ever answered. If not, the address is probably wrong. */
  #isFound = false;
  #stopsAtMs = Number.POSITIVE_INFINITY;

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

  /** Resolves with the results. After DatabaseUnavailable, a node may have carried them out. */
  send(path: string, steps: readonly Step[], maxBytes?: number): Promise<Reply> {
    return this.#askLeader(path, JSON.stringify(steps), async (message, node) => {
      const answer = answerIn(await textOf(message, maxBytes), steps.length);
      this.#follow(node);
      return { ...answer, node, leadership: this.leadership };
    });
  }

  /** Resolves with what the leader has at `path`, when it begins to arrive. */
  get(path: string): Promise<IncomingMessage> {
    return this.#askLeader(path, '', async (message) => message);
  }

  /** Resolves with the rows of one node, which need not be the leader. */
  async ask(node: string, step: Step): Promise<readonly Row[]> {
    const message = await this.#open(node + ASK, JSON.stringify([step]));
    const { results } = answerIn(await textOf(await accepted(message, ASK)), 1);
    const { error } = failureOf({ results });
    if (error !== undefined) throw new DatabaseUnavailable(`${node} fails: ${error}`);
    return results[0]?.rows ?? [];
  }

  /** Whether a node was given up lately. */
  isSilent(node: string): boolean {
    const sinceMs = this.#silentAtMs.get(node) ?? Number.NEGATIVE_INFINITY;
    return performance.now() - sinceMs < CLUSTER_LIMITS.silentMs;
  }

  /** Asks the leader to let another node lead. With credentials, it needs permission to do so. */
  async replaceLeader(leader: string): Promise<void> {
    const message = await this.#open(`${leader}/leader`, '{}').catch(() => undefined);
    message?.resume();
  }

  /** Makes calls reject soon while no node answers. */
  stopSoon(): void {
    this.#stopsAtMs = performance.now() + CLUSTER_LIMITS.stopMs;
  }

  get isStopping(): boolean {
    return Number.isFinite(this.#stopsAtMs);
  }

  [Symbol.dispose](): void {
    this.stopSoon();
    this.#agent.destroy();
  }

  #follow(leader: string | undefined): void {
    if (leader !== this.#leader) this.leadership += 1;
    this.#leader = leader;
  }

  /** Asks until `read` resolves. */
  async #askLeader<T>(
    path: string,
    body: string,
    read: (message: IncomingMessage, node: string) => Promise<T>,
  ): Promise<T> {
    const { slowMs, bytesPerMs, clusterMs, firstPauseMs, maxPauseMs } = CLUSTER_LIMITS;
    const deadline = performance.now() + clusterMs;
    let failures = 0;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      let cause: unknown;
      let node = this.#leader ?? this.#nextNode();
      try {
        // A node that takes part in an election may hold a request while another one is elected.
        const isLikely = this.#leader === node || this.nodes.length === 1;
        const patienceMs = (isLikely ? slowMs : 1) + body.length / bytesPerMs;
        const pinged = node;
        const probe = (request: ClientRequest) => void this.#probe(request, pinged, patienceMs);
        const message = await this.#open(node + path, body, probe);
        this.#isFound ||= VERSION_HEADER in message.headers;
        if (message.statusCode !== 301) return await read(await accepted(message, path), node);
        const leader = originOf(message.resume().headers.location);
        // The others redirect to a leader that hangs until they have elected another one.
        if (leader !== undefined && this.isSilent(leader)) {
          node = leader;
          (await this.#open(node + PING, '')).resume();
        }
        this.#follow(leader);
      } catch (error) {
        if (error instanceof StorageError) throw error;
        if (error instanceof NodeSilent) this.#silentAtMs.set(node, performance.now());
        cause = error;
        failures += 1;
        // Another call may have found the next leader.
        if (this.#leader === node) this.#follow(undefined);
      }
      if (!this.#isFound && failures >= this.nodes.length)
        throw new DatabaseUnavailable(`no rqlite at ${node}: ${reasonOf(cause)}`);
      if (performance.now() + pauseMs > Math.min(deadline, this.#stopsAtMs))
        throw new DatabaseUnavailable('no node of the cluster has answered in time', { cause });
      // Randomized, so that all clients of a lost leader do not ask the next one at once.
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  /** Returns the nodes one after the other, without silent ones if there are others. */
  #nextNode(): string {
    const others = this.nodes.filter((each) => !this.isSilent(each));
    const nodes = others.length > 0 ? others : this.nodes;
    this.#attempts += 1;
    return nodes[this.#attempts % nodes.length] ?? '';
  }

  /** Resolves when the answer begins. */
  #open(url: string, body: string, onSilence = giveUp): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const method = body === '' ? 'GET' : 'POST';
      const { nodeMs, stopMs } = CLUSTER_LIMITS;
      const timeout = this.isStopping ? stopMs : nodeMs;
      const options = { method, agent: this.#agent, headers: this.#headers, timeout };
      const request = this.#request(url, options)
        .on('error', reject)
        .on('response', resolve)
        .once('timeout', () => onSilence(request))
        .end(body);
    });
  }

  /** Ends a silent request: at once, unless its node answers a ping, and so is only slow. */
  async #probe(request: ClientRequest, node: string, patienceMs: number): Promise<void> {
    const pong = await this.#open(node + PING, '').catch(() => undefined);
    // If it has its answer by now, the socket serves another request.
    if (pong?.resume() && !request.destroyed)
      request.socket?.setTimeout(patienceMs, () => giveUp(request));
    else giveUp(request);
  }
}

/** Returns the first result with an error; without one, an empty result. */
export function failureOf({ results }: Pick<Reply, 'results'>): Result {
  return results.find(({ error }) => error !== undefined) ?? {};
}

async function textOf(message: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY) {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) {
    text += chunk;
    if (text.length > maxBytes) throw new AnswerTooLarge('the answer is too large');
  }
  return text;
}

/** Rejects unless the node accepts a request. */
async function accepted(message: IncomingMessage, path: string): Promise<IncomingMessage> {
  const { statusCode: status, headers } = message;
  if (status === 200) return message;
  const text = await textOf(message);
  if (status === 401) {
    const reason = 'wrong user name or password, or the user lacks the permission';
    throw new DatabaseUnavailable(`the cluster refuses ${path.split('?', 1)}: ${reason}`);
  }
  throw new Error(`status ${status}${VERSION_HEADER in headers ? `: ${text.slice(0, 200)}` : ''}`);
}

/** Throws if the node failed. */
function answerIn(text: string, count: number): Pick<Reply, 'results' | 'index'> {
  const answer: { results?: readonly Result[]; error?: string; raft_index?: number } =
    JSON.parse(text);
  const { results, error, raft_index: index } = answer;
  // Sent again, it could be carried out in another order than by the other nodes.
  if (error !== undefined && NODE_FAILURE.test(error)) return { results: [{ error }], index };
  if (error !== undefined || !results) throw new Error(error ?? 'an answer without results');
  // After the first error of a transaction, the other results are missing.
  if (results.length !== count && !results.some((result) => result.error))
    throw new Error('an answer with too few results');
  return { results, index };
}

/** OpenSSL has no plain words for it. */
function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return /^(?:EPROTO|ERR_SSL_)/.test(code) ? 'it does not speak TLS' : message;
}

function originOf(location = ''): string | undefined {
  return URL.canParse(location) ? new URL(location).origin : undefined;
}
