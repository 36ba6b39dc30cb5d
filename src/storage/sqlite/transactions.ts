// Transactions on a connection: what is acknowledged is on disk, and a failed one leaves nothing.
import { DatabaseDamaged, DatabaseUnavailable, type Row, type Statement } from '../database.ts';
import type { Connection } from './connection.ts';
import { codeOf } from './unusable.ts';

/** A commit that overwrites a failed one, which would reappear in the log after a crash. */
const OVERWRITE = 'PRAGMA user_version = 0';

/** The most characters of each parameter in a small transaction. */
const MAX_SMALL_PARAMETER = 65_536;

/**
 * What begins a small transaction. To undo one statement of several, SQLite copies the pages that
 * it changes; into a file, this takes longer, but in memory those of large ones take too much.
 */
const BEGIN_SMALL = 'PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE';
const USE_FILE = 'PRAGMA temp_store = FILE';

/**
 * Returns a function that runs statements as one transaction and resolves with the rows of each.
 * Call it inside `exclusively` of the connection.
 */
export function transactionsOn(connection: Connection) {
  let mayBeOpen = false;

  async function rollBack(): Promise<void> {
    await connection.execute('ROLLBACK').catch((error) => {
      // Any other error means that SQLite has already rolled back.
      if (error instanceof DatabaseUnavailable || error instanceof DatabaseDamaged) throw error;
    });
    mayBeOpen = false;
    await connection.execute(USE_FILE);
  }

  return async function transact(statements: readonly Statement[]): Promise<(readonly Row[])[]> {
    // In a transaction that is still open, nothing would become durable.
    if (mayBeOpen) await rollBack();
    // A single statement is its own transaction and needs no BEGIN and COMMIT.
    const needsBegin = statements.length > 1;
    try {
      if (needsBegin)
        await connection.execute(isSmall(statements) ? BEGIN_SMALL : 'BEGIN IMMEDIATE');
      const results: (readonly Row[])[] = [];
      for (const statement of statements) results.push(await connection.run(statement));
      if (needsBegin) await connection.execute(`COMMIT; ${USE_FILE}`);
      return results;
    } catch (error) {
      if (needsBegin) {
        mayBeOpen = true;
        await rollBack().catch(() => {});
      }
      if (codeOf(error) === 'SQLITE_IOERR') await connection.execute(OVERWRITE).catch(() => {});
      throw error;
    }
  };
}

function isSmall(statements: readonly Statement[]): boolean {
  return statements.every(
    ({ parameter }) => parameter !== undefined && parameter.length <= MAX_SMALL_PARAMETER,
  );
}
