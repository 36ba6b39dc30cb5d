// The seam between the service and whatever engine keeps its data: four calls, so that the same batcher feeds an
// embedded file and a distributed engine alike.

/** A row as the engine returns it: column name to value. */
export type Row = Readonly<Record<string, string | number | null>>;

/**
 * One SQL statement and its only parameter, if it has any: a JSON text, bound as `?1` and taken apart in SQL
 * (`json_each`, `->>`). Text never travels as a parameter of its own, so no engine can mistake it for something else,
 * and one statement serves one row or five hundred.
 */
export interface Statement {
  readonly sql: string;
  readonly parameter?: string;
  /**
   * An SQL expression over the same parameter: the JSON array of the rows that `sql` will return, where it is asked for right
   * before. For engines that keep them with what they have done, as their answer may be lost on its way.
   */
  readonly rows?: string;
}

/**
 * The storage engine. Every call rejects with {@link DatabaseUnavailable} when trying again later can help, and with
 * {@link DatabaseDamaged} when it came upon damage.
 */
export interface Database {
  /** Runs one SELECT on a snapshot that holds every transaction that had resolved before the call. */
  read(statement: Statement): Promise<readonly Row[]>;
  /**
   * Runs the statements as one transaction: all or nothing, durable (on disk) when it resolves. Returns the rows of
   * each. `batchId` names the batch, so that an engine that lost the answer can be sent the same batch again.
   */
  transact(batchId: string, statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  /**
   * Resolves when a transaction can begin at once, where others are at it too: what arrives until then can travel with it.
   * Without it, one always can.
   */
  writable?(): Promise<void>;
  /** Resolves when every connection the service uses has answered a real query. */
  ping(): Promise<void>;
  /** Waits for what is under way, then lets go of the engine. No call may follow. */
  close(): Promise<void>;
}

/** The database cannot serve now: busy, full, gone, or overloaded. Nothing of the failed call was kept, if it is not uncertain. */
export class DatabaseUnavailable extends Error {
  override readonly name: string = 'DatabaseUnavailable';
}

/** An engine that can be lost sight of has not told what became of a transaction: it may have been carried out. */
export class DatabaseUncertain extends DatabaseUnavailable {
  override readonly name = 'DatabaseUncertain';
}

/** What is stored in one place cannot be made out: the call that needs it fails, with nothing of it kept; others need not. */
export class DatabaseDamaged extends Error {
  override readonly name = 'DatabaseDamaged';
}

/** Too much waits for the database already; nothing is wrong with it. */
export class DatabaseOverloaded extends Error {
  override readonly name = 'DatabaseOverloaded';
}

/** The database cannot be used at all: the start ends with this message, which is one line written for a person. */
export class DatabaseUnusable extends Error {
  override readonly name = 'DatabaseUnusable';
}
