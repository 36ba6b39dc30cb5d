// The times and sizes that bound what clients can take up.

/** The limits of the server and its connections. */
export const HTTP_LIMITS = {
  headerBytes: 16_384,
  /** Header lines of a request. */
  headerCount: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  /**
   * A connection is closed when nothing moved on it for this long while an answer is being sent.
   * Node checks once in each such interval, so it may take twice as long.
   */
  stalledMs: 60_000,
  /** How often Node looks for requests that are out of time. */
  checkIntervalMs: 500,
  connections: 10_000,
  /** Connections that the system holds until they are accepted. */
  backlog: 4_096,
  /**
   * How long a connection stays open after an answer to something unreadable, so that the client
   * can read it.
   */
  lingerMs: 500,
  /**
   * How long a closing server keeps accepting clients that have already connected, and keeps idle
   * connections open on which a request may be on its way.
   */
  farewellMs: 500,
  /** How long requests in flight may take to finish when the server closes. */
  closeMs: 10_000,
};

/** The limits of requests and replies. */
export const DISPATCH_LIMITS = {
  /** How long a refusal is held back, on average. */
  heldBackMs: 1_000,
  /**
   * Bodies from this size on count towards `bodiesBytes`, and are parsed in different turns of the
   * event loop.
   */
  largeBodyBytes: 65_536,
  bodiesBytes: 67_108_864,
  /** Replies from this length on count towards `repliesBytes`. */
  largeReplyCharacters: 16_384,
  repliesBytes: 268_435_456,
};
