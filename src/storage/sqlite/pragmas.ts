// The SQL that configures connections and takes their locks.

const BUSY_TIMEOUT_MS = 5_000;
const CACHE_KIB = 65_536;

/** Makes statements wait for a lock. */
export const BUSY_PRAGMA = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`;

const CACHE_PRAGMA = `PRAGMA cache_size = -${CACHE_KIB}`;

/** Configures a connection that only reads. */
export const READER_PRAGMAS = `${BUSY_PRAGMA}; ${CACHE_PRAGMA}`;

/** Configures a connection that writes, whose busy timeout is already set. */
export const WRITER_PRAGMAS = `
  PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; ${CACHE_PRAGMA}`;

/** Makes the connection keep each lock that a statement takes, until it closes. */
export const KEEP_LOCKS = 'PRAGMA locking_mode = EXCLUSIVE';

/** Takes the write lock and rolls back. It writes, because BEGIN alone accepts a read-only file. */
export const TAKE_WRITE_LOCK = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK';
