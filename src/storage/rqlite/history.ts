// Proves that the leader has carried out every batch. A node whose disk is full fails on batches
// that the others carry out, and goes on without them once there is room, which rqlite does not
// notice. So all nodes compute a chain over the batches: it differs after the first missed one.
//
// The nodes are compared only when something may have happened. While the index of a batch in the
// Raft log is ahead of its number by the same distance as before, every entry between was a batch
// that the leader has carried out, and nobody was elected: an election adds an entry of its own.
import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable } from '../database.ts';
import { CLUSTER_LIMITS, type Cluster, type Reply, type Result, type Step } from './cluster.ts';

/** The table of the latest batches, which is no part of the schema of the service. */
export const BATCHES_TABLE = `CREATE TABLE IF NOT EXISTS notes_server_batches (
  -- The latest batches. They must be the same on all nodes.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- A random number of the batch, combined with the chain before it.
  chain INTEGER NOT NULL,
  -- The rows that each statement has returned.
  rows TEXT NOT NULL
) STRICT`;

/** The path that runs statements without rows in one transaction. */
export const EXECUTE = '/db/execute?transaction&redirect&noparse&raft_index';

/** The path of a read of one node. */
export const ASK = '/db/query?associative&level=none';

/** More batches than can follow one that is being resent. Not an age, because clocks differ. */
const KEPT_BATCHES = 20_000;

/** The message of SQLite if a batch is repeated. */
export const DONE_ERROR = 'UNIQUE constraint failed: notes_server_batches.id';

/** The parts of the chain. Their product must be exact in SQLite. */
const CHAIN = { factor: 31, modulus: 2 ** 31 - 1 };

/** Returns the steps that begin a batch and add it to the chain; `rows` is SQL. */
export function beginBatch(id: string, rows = `'[]'`): readonly Step[] {
  const last = 'SELECT chain FROM notes_server_batches ORDER BY number DESC LIMIT 1';
  const chain = `(${CHAIN.factor} * coalesce((${last}), 0) + ?2) % ${CHAIN.modulus}`;
  return [
    [
      `INSERT INTO notes_server_batches (id, chain, rows) VALUES (?1, ${chain}, ${rows})`,
      id,
      randomInt(CHAIN.modulus),
    ],
    [
      `DELETE FROM notes_server_batches
       WHERE number <= (SELECT max(number) FROM notes_server_batches) - ${KEPT_BATCHES}`,
    ],
  ];
}

/** The chain of a node at batch ?1, and whether it lacks ?2, the last batch of this service. */
const SELECT_CHAIN = `
  SELECT number, chain, ?3 > max(0, number - ${KEPT_BATCHES}) AND NOT EXISTS (
    SELECT 1 FROM notes_server_batches WHERE id = ?2 AND number = ?3) AS lacks_last
  FROM notes_server_batches WHERE id = ?1`;

/** What to do with a node that has missed batches. */
export const REMEDY = 'empty a node that has missed writes, and let it join again when it has room';

/** Takes a message for the log, and the node that it is about. */
export type Warn = (message: string, node: string) => void;

/** What this process knows about the batches of a cluster. */
export class History {
  readonly #cluster: Cluster;
  readonly #warn: Warn;
  /** The leadership and the distance for which the leader is proven. */
  #proven: { readonly leadership: number; readonly distance: number } | undefined;
  #provenAtMs = 0;
  #comparedAtMs = 0;
  /** The last batch that was acknowledged. */
  #last = { id: '', number: 0 };
  #proof: Promise<void> | undefined;
  #refusal: DatabaseUnavailable | undefined;
  #refusedAtMs = 0;
  /** The other nodes that have missed batches. */
  #suspects: readonly string[] = [];

  constructor(cluster: Cluster, warn: Warn = () => {}) {
    this.#cluster = cluster;
    this.#warn = warn;
  }

  /** Resolves with what a proven leader has answered; else rejects. */
  async read<Answer extends Pick<Reply, 'leadership'>>(
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      this.#refuseAgain();
      const sentAtMs = performance.now();
      const isQuiet = sentAtMs - this.#provenAtMs > CLUSTER_LIMITS.quietMs;
      const reply = await send();
      // A later proof covers the read: as long as a node leads, what it had before is the same.
      if (isQuiet || reply.leadership !== this.#proven?.leadership) await this.prove();
      if (reply.leadership === this.#proven?.leadership) {
        this.#provenAtMs = Math.max(this.#provenAtMs, sentAtMs);
        this.#recheckLater();
        return reply;
      }
    }
  }

  /** Resolves if the leader is proven, now or before; else rejects. */
  async ensureProven(): Promise<void> {
    this.#refuseAgain();
    if (this.#cluster.leadership !== this.#proven?.leadership) await this.prove();
  }

  /** Resolves when the leader is proven by an empty batch; else rejects. */
  prove(): Promise<void> {
    this.#proof ??= this.#sendEmptyBatch().finally(() => {
      this.#proof = undefined;
    });
    return this.#proof;
  }

  /** Resolves if the leader that has carried out this batch has missed none; else rejects. */
  async accept(id: string, { results, index, node, leadership }: Reply): Promise<void> {
    // Not a number if the batch was repeated.
    let number = Number(results[0]?.last_insert_id);
    const distance = Number(index) - number;
    const before = this.#refusal;
    if (distance !== this.#proven?.distance) number = await this.#compare(id, node);
    // Another batch has found a fault meanwhile.
    if (this.#refusal && this.#refusal !== before) throw this.#refusal;
    this.#refusal = undefined;
    this.#proven = { leadership, distance };
    this.#provenAtMs = performance.now();
    this.#last = { id, number };
    this.#recheckLater();
  }

  /** Forgets the proof, because the leader has failed on a batch. */
  forget(): void {
    this.#proven = undefined;
  }

  async #sendEmptyBatch(): Promise<void> {
    this.#refuseAgain();
    const id = randomUUID();
    const reply = await this.#cluster.send(EXECUTE, beginBatch(id));
    const { error = DONE_ERROR } = failureOf(reply);
    if (error !== DONE_ERROR) {
      void this.#cluster.replaceLeader(reply.node);
      throw this.#refuse(reply.node, `fails: ${error}`);
    }
    await this.accept(id, reply);
  }

  /** Compares the nodes now and then, because a node may miss a batch of another service. */
  #recheckLater(): void {
    if (performance.now() - this.#comparedAtMs < CLUSTER_LIMITS.recheckMs) return;
    this.#comparedAtMs = performance.now();
    // A fault that it finds is kept as the refusal; without an answer, it finds none.
    void this.#recheck().catch(() => {});
  }

  async #recheck(): Promise<void> {
    const id = randomUUID();
    const reply = await this.#cluster.send(EXECUTE, beginBatch(id));
    if (failureOf(reply).error === undefined) await this.#compare(id, reply.node, false);
  }

  /**
   * Compares the nodes at a batch; resolves with its number if a majority has the same chain, and
   * nobody has more batches: a node can only miss some. Without `mustAgree`, silence is no fault.
   */
  async #compare(id: string, leader: string, mustAgree = true): Promise<number> {
    this.#comparedAtMs = performance.now();
    const { nodes } = this.#cluster;
    const majority = Math.floor(nodes.length / 2) + 1;
    const { comparisonMs, firstPauseMs, maxPauseMs } = CLUSTER_LIMITS;
    const deadline = performance.now() + comparisonMs;
    const step: Step = [SELECT_CHAIN, id, this.#last.id, this.#last.number];
    const ask = async (node: string) => (await this.#cluster.ask(node, ASK, step))?.rows?.[0];
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      const [own, ...others] = await Promise.all(
        [leader, ...nodes].map((node) => ask(node).catch(() => undefined)),
      );
      const differing = nodes.filter((_, place) => {
        const row = others[place];
        return own && row && row.chain !== own.chain;
      });
      const ahead = nodes.filter(
        (_, place) => own && Number(others[place]?.number) > Number(own.number),
      );
      if (ahead.length > 0) {
        void this.#cluster.replaceLeader(leader);
        throw this.#refuse(leader, `has fewer writes than ${ahead.join(' and ')}`);
      }
      if (own && others.filter((row) => row?.chain === own.chain).length >= majority) {
        if (own.lacks_last === 1) throw this.#refuse(leader, 'lacks writes of this service');
        this.#suspect(differing);
        return Number(own.number);
      }
      if (differing.length > nodes.length - majority) {
        void this.#cluster.replaceLeader(leader);
        throw this.#refuse(leader, `does not have the data of ${differing.join(' and ')}`);
      }
      const isLate = performance.now() + pauseMs > deadline;
      if (isLate && !mustAgree) return Number.NaN;
      if (isLate) throw this.#refuse(leader, 'cannot be compared with a majority of the nodes');
      // Other nodes carry out a batch a moment later.
      await delay(pauseMs);
    }
  }

  #refuse(leader: string, reason: string): DatabaseUnavailable {
    const message = `the leader ${leader} ${reason}; ${REMEDY}`;
    if (this.#refusal?.message !== message) this.#warn(message, leader);
    this.#refusal = new DatabaseUnavailable(message);
    this.#refusedAtMs = performance.now();
    this.forget();
    return this.#refusal;
  }

  #refuseAgain(): void {
    if (this.#refusal && performance.now() - this.#refusedAtMs < CLUSTER_LIMITS.refusalMs)
      throw this.#refusal;
  }

  /** Warns of nodes that do not lead, once each. */
  #suspect(nodes: readonly string[]): void {
    for (const node of nodes.filter((each) => !this.#suspects.includes(each)))
      this.#warn(`the node ${node} does not have the data of the leader; ${REMEDY}`, node);
    this.#suspects = nodes;
  }
}

/** Returns the first result with an error; without one, an empty result. */
export function failureOf({ results }: Pick<Reply, 'results'>): Result {
  return results.find(({ error }) => error !== undefined) ?? {};
}
