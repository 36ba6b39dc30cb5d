// Sends statements to an rqlite cluster over HTTP: to the leader, if it is known, or else to one
// node after the other until one answers. Everything sent here must be safe to repeat.
import http, {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, type Row, StorageError } from '../storage/database.ts';
import type { ParsedCluster } from './address.ts';
import { accepted, answerIn, failureOf, type Result, textOf, VERSION_HEADER } from './answers.ts';

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

/** The results from the leader. */
export interface Reply {
  readonly results: readonly Result[];
  /** The index of the entry in the Raft log, if there is one and the path asks for it. */
  readonly index: number | undefined;
  /** The URL of the leader; if another node has forwarded to it, its Raft address. */
  readonly node: string;
  /** The value of {@link Cluster.leadership} when the leader answered; NaN if that is unknown. */
  readonly leadership: number;
}

const ASK = '/db/query?associative&level=none';

/** Answered by every node, even without a leader. */
const PING = '/readyz?noleader';

/** The Raft address of the leader to which a node has forwarded. */
const SERVED_BY_HEADER = 'x-rqlite-served-by';

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
  /** The node that is asked: the leader, or one that forwards to it. */
  #leader: string | undefined;
  /** What the leader is called in a {@link Reply}. */
  #name: string | undefined;
  /** The silent leader to which `#leader` forwards. */
  #behind: string | undefined;
  /** The nodes that have forwarded, by the names of the leaders. */
  readonly #ways = new Map<string, string>();
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
      const leader = this.#recognize(node, message);
      const leadership = leader === this.#name ? this.leadership : Number.NaN;
      return { ...answer, node: leader, leadership };
    });
  }

  /** Resolves with what the leader has at `path`, when it begins to arrive. */
  get(path: string): Promise<IncomingMessage> {
    return this.#askLeader(path, '', async (message) => message);
  }

  /** Resolves with the rows of one node, which need not be the leader. */
  async ask(node: string, step: Step): Promise<readonly Row[]> {
    const way = this.#ways.get(node);
    const path = way === undefined ? ASK : ASK.replace('none', 'weak');
    const message = await this.#open((way ?? node) + path, JSON.stringify([step]));
    const { results } = answerIn(await textOf(await accepted(message, ASK)), 1);
    if (way !== undefined && message.headers[SERVED_BY_HEADER] !== node)
      throw new DatabaseUnavailable(`${node} does not lead`);
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
    const url = this.#ways.get(leader) ?? leader;
    const message = await this.#open(`${url}/leader`, '{}').catch(() => undefined);
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

  #follow(node: string | undefined, name = node, behind?: string): void {
    if (node !== this.#leader || name !== this.#name) this.leadership += 1;
    this.#leader = node;
    this.#name = name;
    this.#behind = behind;
  }

  /** Follows the leader that has answered a request to a node; returns its name. */
  #recognize(node: string, { headers }: IncomingMessage): string {
    const name = String(headers[SERVED_BY_HEADER] ?? node);
    if (name === node) this.#follow(node);
    else {
      this.#ways.set(name, node);
      const isKnown = this.#name === node || this.#name === name;
      if (this.#leader === node && isKnown) this.#follow(node, name, this.#behind);
      // Another leader than before can perhaps be asked itself.
      else if (this.#leader === node) this.#follow(undefined);
    }
    return name;
  }

  /** Asks a silent leader itself again if it answers a ping, or else leaves it out again. */
  async #returnTo(leader: string): Promise<void> {
    this.#silentAtMs.set(leader, performance.now());
    const pong = await this.#open(leader + PING, '').catch(() => undefined);
    if (!pong?.resume()) return;
    this.#silentAtMs.delete(leader);
    if (this.#behind === leader) this.#follow(leader);
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
      const behind = this.#behind;
      if (behind !== undefined && !this.isSilent(behind)) void this.#returnTo(behind);
      const node = this.#leader ?? this.#nextNode();
      try {
        // A node that takes part in an election may hold a request while another one is elected.
        const isLikely = this.#leader === node || this.nodes.length === 1;
        const patienceMs = (isLikely ? slowMs : 1) + body.length / bytesPerMs;
        const probe = (request: ClientRequest) => void this.#probe(request, node, patienceMs);
        // Not a copy of all data, which would be cut off without a word when the time is over.
        const isForwarded = behind !== undefined && this.#leader === node && body !== '';
        const instead = `timeout=${Math.ceil(patienceMs)}ms`;
        const way = isForwarded ? path.replace('redirect', instead) : path;
        const message = await this.#open(node + way, body, probe);
        this.#isFound ||= VERSION_HEADER in message.headers;
        if (message.statusCode !== 301) return await read(await accepted(message, path), node);
        const leader = originOf(message.resume().headers.location);
        // Who redirects has just reached the leader, and so can forward to it.
        if (leader === undefined || !this.isSilent(leader)) this.#follow(leader);
        else if (leader !== this.#behind) this.#follow(node, node, leader);
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
    const leave = () => void request.destroy(new Error('the node is slow'));
    // If it has its answer by now, the socket serves another request.
    if (pong?.resume() && !request.destroyed) request.socket?.setTimeout(patienceMs, leave);
    else giveUp(request);
  }
}

/** OpenSSL has no plain words for it. */
function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return /^(?:EPROTO|ERR_SSL_)/.test(code) ? 'it does not speak TLS' : message;
}

function originOf(location = ''): string | undefined {
  return URL.canParse(location) ? new URL(location).origin : undefined;
}
