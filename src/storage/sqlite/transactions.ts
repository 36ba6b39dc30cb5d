// Transactions on the writing connection, and the recovery from failed ones.
import { DatabaseDamaged, DatabaseUnavailable, type Row, type Statement } from '../database.ts';
import type { Connection } from './connection.ts';
import { codeOf } from './unusable.ts';

/**
 * A commit without a change. A transaction whose commit failed while syncing is complete in the log
 * and would reappear after a crash; this overwrites it there.
 */
const OVERWRITE = 'PRAGMA user_version = 0';

/** Runs transactions one at a time. */
export class Transactions {
  readonly #writer: Connection;
  #mayBeOpen = false;

  constructor(writer: Connection) {
    this.#writer = writer;
  }

  /** Call it inside `exclusively`. */
  async run(statements: readonly Statement[]): Promise<(readonly Row[])[]> {
    // In a transaction that is still open, nothing would become durable.
    if (this.#mayBeOpen) await this.#rollBack();
    try {
      const [only] = statements;
      // A single statement is its own transaction and needs no BEGIN and COMMIT.
      if (only && statements.length === 1) return [await this.#writer.run(only)];
      return await this.#runAll(statements);
    } catch (error) {
      if (codeOf(error) === 'SQLITE_IOERR') await this.#writer.execute(OVERWRITE).catch(() => {});
      throw error;
    }
  }

  async #runAll(statements: readonly Statement[]): Promise<(readonly Row[])[]> {
    await this.#writer.execute('BEGIN IMMEDIATE');
    try {
      const results: (readonly Row[])[] = [];
      for (const statement of statements) results.push(await this.#writer.run(statement));
      await this.#writer.execute('COMMIT');
      return results;
    } catch (error) {
      this.#mayBeOpen = true;
      await this.#rollBack().catch(() => {});
      throw error;
    }
  }

  async #rollBack(): Promise<void> {
    await this.#writer.execute('ROLLBACK').catch((error) => {
      // Any other error means that SQLite has already rolled back.
      if (error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged) throw error;
    });
    this.#mayBeOpen = false;
  }
}
