// The nodes of an rqlite cluster, spoken to over HTTP. What is sent goes to the leader, as far as it is known, and from node
// to node until one of them has answered: everything that is sent here may be sent again.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable, type Row } from './database.ts';

/** Where a cluster is, and who asks. */
export interface ClusterAddress {
  /** The origins of nodes, such as `http://127.0.0.1:4001`; at least one, and all of the same scheme. */
  readonly nodes: readonly string[];
  readonly user: string | undefined;
  readonly password: string | undefined;
}

/**
 * How long a node has for an answer, how long nodes are asked for one, how fast what they are sent gets there at least (both
 * times are longer by that), and how long it takes until the next one is asked.
 */
export const CLUSTER_LIMITS = {
  nodeMs: 2_000,
  clusterMs: 10_000,
  bytesPerMs: 256,
  firstPauseMs: 20,
  longestPauseMs: 400,
};

/** A statement of SQL and its parameters. */
export type Step = readonly [sql: string, ...parameters: (string | number)[]];

/** The result of one statement. */
export interface Result {
  readonly rows?: readonly Row[] | null;
  readonly error?: string;
}

/** The way to the leader. */
export interface Cluster {
  /**
   * Sends statements until a node has done with them what it can; resolves with their results. Rejects with
   * {@link DatabaseUnavailable} if none has in time, and it is not known then whether they have been carried out.
   */
  send(path: string, steps: readonly Step[]): Promise<readonly Result[]>;
  close(): void;
}

/** What came over the wire. */
interface Wire {
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string;
}

/** Returns the way to the cluster at `address`. Nothing is sent yet. */
export function createCluster({ nodes, user, password }: ClusterAddress, limits = CLUSTER_LIMITS): Cluster {
  const isSecure = nodes.some((node) => node.startsWith('https:'));
  const agent = isSecure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const credentials = Buffer.from(`${user}:${password ?? ''}`).toString('base64');
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    ...(user === undefined ? {} : { authorization: `Basic ${credentials}` }),
  };
  /** The node that answered last, or that another one has named. */
  let leader: string | undefined;
  let turn = 0;

  function nextNode(): string {
    if (leader !== undefined) return leader;
    turn += 1;
    return nodes[turn % nodes.length] ?? '';
  }

  function post(url: string, body: string, withinMs: number): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(withinMs);
      const request = (isSecure ? httpsRequest : httpRequest)(url, { agent, method: 'POST', headers, signal });
      request.on('error', reject).on('response', (response) => void receive(response).then(resolve, reject));
      request.end(body);
    });
  }

  return {
    async send(path, steps) {
      const body = JSON.stringify(steps);
      const sendMs = Math.ceil(Buffer.byteLength(body) / limits.bytesPerMs);
      const deadline = performance.now() + limits.clusterMs + sendMs;
      let pauseMs = limits.firstPauseMs;
      for (;;) {
        const node = nextNode();
        let failure: unknown;
        try {
          const wire = await post(`${node}${path}`, body, limits.nodeMs + sendMs);
          const results = resultsOf(wire, steps.length);
          leader = results ? node : originOf(wire.location);
          if (results) return results;
        } catch (error) {
          if (error instanceof DatabaseUnavailable) throw error;
          failure = error;
          leader = undefined;
        }
        if (performance.now() + pauseMs > deadline) {
          throw new DatabaseUnavailable('no node of the cluster has answered in time', { cause: failure });
        }
        // Whoever lost the same leader would find the next one at the same moment.
        await delay(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(2 * pauseMs, limits.longestPauseMs);
      }
    },

    close: () => agent.destroy(),
  };
}

async function receive(response: IncomingMessage): Promise<Wire> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, location: response.headers.location, text };
}

/** The results in an answer, undefined where it names another node. Throws where that node could not do what was asked. */
function resultsOf({ status, text }: Wire, count: number): readonly Result[] | undefined {
  if (status === 301) return undefined;
  if (status === 401) throw new DatabaseUnavailable('the cluster does not let this user in');
  if (status !== 200) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
  const { results, error }: { results?: readonly Result[]; error?: string } = JSON.parse(text);
  if (error !== undefined || !results) throw new Error(error ?? 'an answer without results');
  // After an error the others are missing.
  if (results.length !== count && !results.some((result) => result.error))
    throw new Error('an answer with too few results');
  return results;
}

function originOf(location = ''): string | undefined {
  return URL.canParse(location) ? new URL(location).origin : undefined;
}
