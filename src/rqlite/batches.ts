// The table of the latest batches, by which nodes are compared. A node whose disk is full fails on
// batches that the others carry out, and goes on without them once there is room, which rqlite does
// not notice. So all nodes compute a chain over the batches: it differs after the first missed one.
import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Row } from '../storage/database.ts';
import { failureOf } from './answers.ts';
import { CLUSTER_LIMITS, type Cluster, type Step } from './cluster.ts';

/** The table of the latest batches, which is no part of the schema of the service. */
export const BATCHES_TABLE = `CREATE TABLE IF NOT EXISTS notes_server_batches (
  -- The latest batches. They must be the same on all nodes.
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  -- A random number of the batch, combined with the chain before it. It is -1 for ever once the
  -- node knows that it has missed a batch.
  chain INTEGER NOT NULL,
  -- The rows that each statement has returned.
  rows TEXT NOT NULL
) STRICT`;

/** The path that runs statements without rows in one transaction. */
export const EXECUTE = '/db/execute?transaction&redirect&noparse&raft_index';

/** The message of SQLite if a batch is repeated. */
export const DONE_ERROR = 'UNIQUE constraint failed: notes_server_batches.id';

/** The message of SQLite if a batch comes so late that its own id may be forgotten. */
export const LATE_ERROR = 'NOT NULL constraint failed: notes_server_batches.chain';

/** What to do with a node that has missed batches. */
export const REMEDY = 'empty a node that has missed writes, and let it join again when it has room';

/** More batches than can follow one that is being resent. Not an age, because clocks differ. */
const KEPT_BATCHES = 20_000;

/** The parts of the chain. Their product must be exact in SQLite. */
const CHAIN = { factor: 31, modulus: 2 ** 31 - 1 };

/** The chain after a batch with the random number ?2; a proven leader gave ?3 the number ?4. */
const NEXT_CHAIN = `(
  SELECT iif(min(chain) < 0 OR EXISTS (
               SELECT 1 FROM notes_server_batches WHERE id = ?3 AND number < ?4),
             -1, (${CHAIN.factor} * coalesce(max(chain), 0) + ?2) % ${CHAIN.modulus})
  FROM (SELECT chain FROM notes_server_batches ORDER BY number DESC LIMIT 1))`;

/** The same, but NULL if what came after the number ?4 may be forgotten: it could come again. */
const CHAIN_IN_TIME = `
  iif(?4 < (SELECT max(number) FROM notes_server_batches) - ${KEPT_BATCHES}, NULL, ${NEXT_CHAIN})`;

/** Enters the id ?1, on which its batch then fails, at a number below those of all batches. */
const BAR = `
  INSERT OR IGNORE INTO notes_server_batches (number, id, chain, rows)
  SELECT min(0, min(number)) - 1, ?1, 0, '[]' FROM notes_server_batches`;

/** A {@link Standing} at the batch ?1; a proven leader gave ?2 the number ?3. */
const SELECT_STANDING = `
  SELECT chain, iif(chain < 0 OR ?3 > max(0, number - ${KEPT_BATCHES}) AND NOT EXISTS (
    SELECT 1 FROM notes_server_batches WHERE id = ?2 AND number = ?3), 0, number) AS number
  FROM notes_server_batches WHERE id = ?1`;

/** What a node has carried out up to a batch. */
export interface Standing {
  /** How many batches: less than on another node if it has missed some, 0 if it knows that. */
  readonly number: number;
  /** The same after the same batches. */
  readonly chain: number;
}

/** Undefined for a node that does not answer, or has not carried out the batch yet. */
export type Standings = readonly (Standing | undefined)[];

/** The batches of a cluster. */
export class Batches {
  /** The last one that a proven leader has carried out. */
  last: readonly [id: string, number: number] = ['', 0];
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Returns the steps that begin a batch and add it to the chain; `rows` is SQL. */
  begin(id: string, rows = `'[]'`, chain = CHAIN_IN_TIME): readonly Step[] {
    const insert = `
      INSERT INTO notes_server_batches (id, chain, rows) VALUES (?1, ${chain}, ${rows})`;
    const remove = `
      DELETE FROM notes_server_batches
      WHERE number > 0
        AND number <= (SELECT max(number) FROM notes_server_batches) - ${KEPT_BATCHES}`;
    return [[insert, id, randomInt(CHAIN.modulus), ...this.last], [remove]];
  }

  /**
   * Sends an empty batch, after which no batch of `barred` can be carried out any more; resolves
   * with the `error` of the leader, unless it is carried out.
   */
  async sendEmpty(barred: readonly string[] = []) {
    const id = randomUUID();
    // It may come late: it changes nothing else.
    const begin = this.begin(id, undefined, NEXT_CHAIN);
    const steps = [...begin, ...barred.map((each): Step => [BAR, each])];
    const reply = await this.#cluster.send(EXECUTE, steps);
    const { error } = failureOf(reply);
    // It had been carried out when it was sent again.
    return { id, reply, error: error === DONE_ERROR ? undefined : error };
  }

  /** Resolves with the standings of nodes at a batch, when `isEnough` or the time is over. */
  async standings(
    id: string,
    nodes: readonly string[],
    isEnough: (standings: Standings) => boolean,
  ): Promise<Standings> {
    const step: Step = [SELECT_STANDING, id, ...this.last];
    const { comparisonMs, firstPauseMs, maxPauseMs } = CLUSTER_LIMITS;
    const deadline = performance.now() + comparisonMs;
    const standings: (Standing | undefined)[] = nodes.map(() => undefined);
    const ask = async (node: string, place: number) => {
      standings[place] ??= standingIn(await this.#cluster.ask(node, step).catch(() => []));
    };
    // What a silent node answers is used in a later round.
    const mayWait = (_: unknown, place: number) => !this.#cluster.isSilent(nodes[place] ?? '');
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      await Promise.all(nodes.map(ask).filter(mayWait));
      if (isEnough(standings) || performance.now() + pauseMs > deadline) return standings;
      // Other nodes carry out a batch a moment later.
      await delay(pauseMs);
    }
  }
}

function standingIn([row]: readonly Row[]): Standing | undefined {
  return row && { number: Number(row.number), chain: Number(row.chain) };
}
