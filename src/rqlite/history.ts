// Proves that the leader has carried out every batch, so that nothing is answered from one that has
// missed some.
//
// The nodes are compared only when something may have happened. While the index of a batch in the
// Raft log is ahead of its number by the same distance as before, every entry between was a batch
// that the leader has carried out, and nobody was elected: an election adds an entry of its own.
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseUnavailable } from '../storage/database.ts';
import { Batches, REMEDY, type Standings } from './batches.ts';
import { CLUSTER_LIMITS, type Cluster, type Reply } from './cluster.ts';

/** Takes a message for the log, and the node that it is about. */
export type Warn = (message: string, node: string) => void;

/** What this process knows about the batches of a cluster. */
export class History {
  readonly batches: Batches;
  readonly #cluster: Cluster;
  readonly #warn: Warn;
  /** The leadership and the distance for which the leader is proven. */
  #proven: { readonly leadership: number; readonly distance: number } | undefined;
  #provenAtMs = 0;
  #comparedAtMs = 0;
  #proof: Promise<void> | undefined;
  #refusal: DatabaseUnavailable | undefined;
  #refusedAtMs = 0;
  /** The batches whose outcome is unknown. */
  readonly #uncertain = new Set<string>();
  /** The other nodes that have missed batches. */
  #suspects: readonly string[] = [];

  constructor(cluster: Cluster, warn: Warn = () => {}) {
    this.batches = new Batches(cluster);
    this.#cluster = cluster;
    this.#warn = warn;
  }

  /** Resolves with what a proven leader has answered; else rejects. */
  async read<Answer extends Pick<Reply, 'leadership'>>(
    send: () => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      await this.#barUncertain();
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
    await this.#barUncertain();
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
    this.batches.last = [id, number];
    this.#recheckLater();
  }

  /** Keeps a batch from being carried out late: its id is entered before anything is answered. */
  async bar(id: string): Promise<void> {
    this.#uncertain.add(id);
    // Also without another request, because somebody may look by another service.
    while (this.#uncertain.size > 0 && !this.#cluster.isStopping)
      await this.prove().catch(() => delay(CLUSTER_LIMITS.maxPauseMs, undefined, { ref: false }));
  }

  /** Forgets the proof, because the leader has failed on a batch. */
  forget(): void {
    this.#proven = undefined;
  }

  async #sendEmptyBatch(): Promise<void> {
    this.#refuseAgain();
    const uncertain = [...this.#uncertain];
    const { id, reply, error } = await this.batches.sendEmpty(uncertain);
    if (error !== undefined) throw this.#replace(reply.node, `fails: ${error}`);
    await this.accept(id, reply);
    for (const each of uncertain) this.#uncertain.delete(each);
  }

  async #barUncertain(): Promise<void> {
    while (this.#uncertain.size > 0) await this.prove();
  }

  /** Compares the nodes now and then, because a node may miss a batch of another service. */
  #recheckLater(): void {
    if (performance.now() - this.#comparedAtMs < CLUSTER_LIMITS.recheckMs) return;
    this.#comparedAtMs = performance.now();
    const recheck = async () => {
      const { id, reply, error } = await this.batches.sendEmpty();
      if (error === undefined) await this.#compare(id, reply.node, false);
    };
    // A fault that it finds is kept as the refusal; without an answer, it finds none.
    void recheck().catch(() => {});
  }

  /**
   * Compares the nodes at a batch; resolves with its number if a majority has the same chain, and
   * nobody has more batches: a node can only miss some. Without `mustAgree`, silence is no fault.
   */
  async #compare(id: string, leader: string, mustAgree = true): Promise<number> {
    this.#comparedAtMs = performance.now();
    const { nodes } = this.#cluster;
    const isEnough = (standings: Standings) => judge(nodes, standings) !== undefined;
    const standings = await this.batches.standings(id, [leader, ...nodes], isEnough);
    const verdict = judge(nodes, standings);
    if (!verdict && !mustAgree) return Number.NaN;
    if (!verdict) throw this.#refuse(leader, 'cannot be compared with a majority of the nodes');
    const others = verdict.differing.join(' and ');
    const fault = others ? `does not have the data of ${others}` : 'has missed writes';
    if (verdict.hasMissed) throw this.#replace(leader, fault);
    this.#suspect(verdict.differing);
    return verdict.number;
  }

  /** Refuses a leader, and asks it to let another node lead. */
  #replace(leader: string, reason: string): DatabaseUnavailable {
    void this.#cluster.replaceLeader(leader);
    return this.#refuse(leader, reason);
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

/** What the standings tell about the leader, the first of them; undefined if too few are known. */
function judge(nodes: readonly string[], [leader, ...others]: Standings) {
  if (!leader) return undefined;
  const { number, chain } = leader;
  const differing = nodes.filter((_, place) => (others[place]?.chain ?? chain) !== chain);
  const majority = Math.floor(nodes.length / 2) + 1;
  // A node can only miss batches.
  const isBehind = others.some((each) => each && each.number > number);
  const isUnlike = differing.length > nodes.length - majority;
  const agreeing = others.filter((each) => each?.chain === chain);
  if (!isBehind && !isUnlike && agreeing.length < majority) return undefined;
  return { hasMissed: isBehind || isUnlike || number === 0, differing, number };
}
