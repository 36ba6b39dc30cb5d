// Notices when the clock is set forward, which would make the keys of all requests look old.
import type { Statement } from '../database.ts';

/** The table of the keys of requests that must not be carried out twice, and of their answers. */
export const ANSWERS = 'notes_server_answers';

/** The clock and the monotonic clock of a machine drift apart by less between two writes. */
const MIN_JUMP_MS = 60_000;

/** Compares the two clocks. */
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
