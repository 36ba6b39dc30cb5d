// The keys of requests that must not be carried out twice: how long the database keeps them.

import type { Statement } from '../database.ts';
import { CHANGES } from '../numbers.ts';

/** The table of the keys and their answers. */
export const ANSWERS = 'notes_server_answers';

/** The SQL of the time of a write: its 13 digits. JSON functions would parse all rows. */
export const NOW = 'CAST(substr(?1, 2, 13) AS INTEGER)';

/** The statement that gives the changes of a transaction their time where triggers have none. */
export const SET_TIMES = {
  sql: `UPDATE ${CHANGES} INDEXED BY changes_without_time SET at = ${NOW} WHERE at IS NULL`,
};

/** A key is kept for this time, unless this many others follow. */
const KEPT_MS = 86_400_000;
const KEPT_KEYS = 100_000;

/** The statement that forgets old keys. */
export const FORGET_KEYS = {
  sql: `
    DELETE FROM ${ANSWERS} WHERE answered_at <= (${NOW}) - ${KEPT_MS}
      OR position <= (SELECT max(position) FROM ${ANSWERS}) - ${KEPT_KEYS}`,
};

/** The clock and the monotonic clock of a machine drift apart by less between two writes. */
const MIN_JUMP_MS = 60_000;

/** Notices when the clock is set forward, which would make all keys look old. */
export class KeyClock {
  #leadMs = readLeadMs();
  #measuredMs = this.#leadMs;

  /** Returns what the next transaction must begin with. */
  corrections(): Statement[] {
    this.#measuredMs = readLeadMs();
    const jumpMs = Math.round(this.#measuredMs - this.#leadMs);
    if (jumpMs < MIN_JUMP_MS) return [];
    const sql = `UPDATE ${ANSWERS} SET answered_at = answered_at + (?1 ->> '$')`;
    return [{ sql, parameter: JSON.stringify(jumpMs) }];
  }

  /** Must be called when it is durable. */
  accept(): void {
    // Not measured again: the clock may have been set during the transaction.
    this.#leadMs = this.#measuredMs;
  }
}

function readLeadMs(): number {
  return Date.now() - performance.now();
}
