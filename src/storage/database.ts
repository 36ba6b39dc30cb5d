// The interface between the service and its storage engine, a local file or a cluster.
import type { Step } from './step.ts';

/** A row as the engine returns it: column name to value; a BLOB is a buffer. */
export type Row = Readonly<Record<string, string | number | null | Buffer>>;

/** The most bytes of records that are read as one text, together with others. */
export const MAX_PAGE_BYTES = 2_097_152;

/** The most bytes of records that are read one by one: 100 notes take less, with 100 tags each. */
export const MAX_LARGE_PAGE_BYTES = 100_663_296;

/** An SQL statement. Its only parameter, `?1`, is JSON, which all engines read alike. */
export interface Statement {
  readonly sql: string;
  readonly parameter?: string;
  readonly isSlow?: boolean;
  /** Set to receive large rows one by one. The last ones may be missing. */
  readonly hasLargeRows?: boolean;
  /** Beyond this, a read rejects with {@link AnswerTooLarge}. */
  readonly maxBytes?: number | undefined;
}

/** A step of a write with its parameter. */
export interface PreparedStep {
  readonly step: Step;
  readonly parameter: string;
}

/** Tells without a read whether somebody has changed the database. */
export interface Freshness {
  /** Returns a text that each transaction changes before it resolves; undefined if unknown. */
  revision(): string | undefined;
  /** Returns a revision that the database has had since the last transaction of this process. */
  committed(): string | undefined;
  /** Whether exactly one transaction lies between two revisions. */
  isNext(before: string, after: string): boolean;
}

/** A database to read from. */
export type Source = Pick<Database, 'read'>;

/** The storage engine. Calls reject with {@link DatabaseUnavailable} or {@link DatabaseDamaged}. */
export interface Database {
  /** Runs one SELECT on a snapshot that contains every transaction resolved before the call. */
  read(statement: Statement): Promise<readonly Row[]>;
  /** Runs one durable transaction, and only once, even if an engine has to send it again. */
  transact(statements: readonly (Statement | PreparedStep)[]): Promise<readonly (readonly Row[])[]>;
  /** Resolves when a transaction can begin at once. Missing unless processes share a lease. */
  writable?(): Promise<void>;
  /** Resolves when every connection has answered a query that reads the database. */
  ping(): Promise<void>;
  /** Missing where nothing proves that data in memory is the latest. */
  readonly freshness?: Freshness | undefined;
  /** How long calls wait for an election. Missing where there is none. */
  readonly patienceMs?: number;
  /** Makes calls reject soon if the database does not answer. Missing where it always answers. */
  stopSoon?(): void;
  /** Waits for the work in progress, then releases the engine. No call may follow. */
  close(): Promise<void>;
}

/** An error of the storage, named by its class. */
export class StorageError extends Error {
  override readonly name = this.constructor.name;
}

/** It is busy, full or gone. Except for {@link DatabaseUncertain}, the call changed nothing. */
export class DatabaseUnavailable extends StorageError {}

/** There is no room for the write; reads go on. */
export class DatabaseFull extends DatabaseUnavailable {}

/** The engine did not report the outcome of a transaction, which may have been carried out. */
export class DatabaseUncertain extends DatabaseUnavailable {}

/** A slow read was ended. This says nothing about the health of the database. */
export class ReadTooSlow extends StorageError {}

/** A read was ended because its answer would take too much memory. */
export class AnswerTooLarge extends StorageError {}

/** Reads; if the answer is too large for a usual one, reads again when `reserve` has resolved. */
export async function readReserving<Answer>(
  read: (isLarge: boolean) => Promise<Answer>,
  reserve: () => Promise<void> | undefined,
): Promise<Answer> {
  try {
    return await read(false);
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    await reserve();
    return read(true);
  }
}

/**
 * Reads rows one by one, the first of which tells in `count` how many others there are; reads all
 * again if some of them are missing.
 */
export async function readLargeRows({ read }: Source, statement: Statement) {
  const bounded = { ...statement, maxBytes: MAX_LARGE_PAGE_BYTES };
  const rows = await read({ ...bounded, hasLargeRows: true });
  return rows.length === 1 + Number(rows[0]?.count) ? rows : read(bounded);
}

/** Returns a BLOB in `items`. rqlite sends a text if the column has one in the first row. */
export function bytesOf({ items }: Row): Buffer {
  return items instanceof Buffer ? items : Buffer.from(String(items));
}

/** Some stored data cannot be read. The call changed nothing; other calls may succeed. */
export class DatabaseDamaged extends StorageError {}

/** The database cannot be used, so the start or the command fails. The message is one line. */
export class DatabaseUnusable extends StorageError {}
