// Notices when the clock is set forward, which would make the keys of all requests look old.
import type { Statement } from '../storage/database.ts';
import type { Commit, CommitObserver } from '../storage/writer.ts';

/** The table of the keys of requests that must not be carried out twice, and of their answers. */
export const ANSWERS = 'notes_server_answers';

/** The clock and the monotonic clock of a machine drift apart by less between two writes. */
const MIN_JUMP_MS = 60_000;

/** Compares the two clocks before each transaction. */
export class KeyClock implements CommitObserver {
  #leadMs = performance.timeOrigin;
  #measuredMs = this.#leadMs;

  /** Returns the correction of all keys, if one is needed. */
  begin(): readonly Statement[] {
    this.#measuredMs = Date.now() - performance.now();
    const jumpMs = Math.round(this.#measuredMs - this.#leadMs);
    if (jumpMs < MIN_JUMP_MS) return [];
    const sql = `UPDATE ${ANSWERS} SET answered_at = answered_at + (?1 ->> '$')`;
    return [{ sql, parameter: JSON.stringify(jumpMs) }];
  }

  end({ isDurable }: Pick<Commit, 'isDurable'>): void {
    // Not measured again: the clock may have been set during the transaction.
    if (isDurable) this.#leadMs = this.#measuredMs;
  }
}
