// The settings of connections.

const BUSY_TIMEOUT_MS = 5_000;
const CACHE_KIB = 65_536;

/** Lets a connection wait for locks. */
export const BUSY_PRAGMA = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`;

/** Enlarges the page cache, whose memory is allocated only as pages are read. */
export const CACHE_PRAGMA = `PRAGMA cache_size = -${CACHE_KIB}`;

/** The settings of a connection that only reads. */
export const READER_PRAGMAS = `${BUSY_PRAGMA}; ${CACHE_PRAGMA}`;

/** The settings of a connection that writes. */
export const WRITER_PRAGMAS = `
  PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; ${CACHE_PRAGMA}`;

/** Makes the next statement lock the file for this connection, or fail if it is in use. */
export const LOCK_OUT = 'PRAGMA locking_mode = EXCLUSIVE';

/** Takes and releases the write lock. Writes, because BEGIN alone accepts a read-only file. */
export const TAKE_WRITE_LOCK = 'BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK';
