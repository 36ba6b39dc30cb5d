// Reads the nodes of a cluster one by one, so that they can be compared.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnusable, type Row, type Source, type Statement } from '../database.ts';
import { CLUSTER_LIMITS, Cluster, type ClusterAddress, type Step } from './cluster.ts';
import { ASK, beginBatch, DONE_ERROR, EXECUTE, failureOf } from './history.ts';

/** A node, whose own copy of the data is read. */
export interface Node extends Source {
  readonly url: string;
}

/** What a node has carried out up to a batch. */
export interface Standing {
  /** How many batches: less than on another node if it has missed some. */
  readonly number: number;
  /** The same after the same batches. */
  readonly chain: string;
}

const SELECT_STANDING = `
  SELECT number, chain FROM notes_server_batches WHERE id = ?1 ->> '$'`;

/** The nodes of a cluster. */
export class Nodes {
  readonly all: readonly Node[];
  readonly #cluster: Cluster;

  constructor(address: ClusterAddress) {
    this.#cluster = new Cluster(address);
    this.all = address.nodes.map((url) => ({ url, read: (each) => this.#read(url, each) }));
  }

  /** Adds an empty batch; resolves with what each of `nodes` has, undefined if not in time. */
  async standings(nodes = this.all): Promise<(Standing | undefined)[]> {
    const id = randomUUID();
    const { error } = failureOf(await this.#cluster.send(EXECUTE, beginBatch(id)));
    if (error?.startsWith('no such table')) throw new DatabaseUnusable('it is empty');
    // The cluster had carried it out when it was sent again.
    if (error !== undefined && error !== DONE_ERROR)
      throw new DatabaseUnusable(`its leader fails: ${error}`);
    const deadline = performance.now() + CLUSTER_LIMITS.clusterMs;
    return Promise.all(nodes.map((node) => this.#standingOf(node, id, deadline)));
  }

  [Symbol.dispose](): void {
    this.#cluster.close();
  }

  async #standingOf({ read }: Node, id: string, deadline: number): Promise<Standing | undefined> {
    for (;;) {
      const statement = { sql: SELECT_STANDING, parameter: JSON.stringify(id) };
      const [row] = await read(statement).catch(() => []);
      if (row) return { number: Number(row.number), chain: String(row.chain) };
      if (performance.now() > deadline) return undefined;
      await delay(CLUSTER_LIMITS.maxPauseMs);
    }
  }

  async #read(url: string, { sql, parameter }: Statement): Promise<readonly Row[]> {
    const step: Step = parameter === undefined ? [sql] : [sql, parameter];
    const { rows, error } = (await this.#cluster.ask(url, ASK, step)) ?? {};
    if (error !== undefined) throw new DatabaseUnusable(`${url} fails: ${error}`);
    return rows ?? [];
  }
}
