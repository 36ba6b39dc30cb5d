// The limits on times, sizes and numbers that protect the service from its clients.

export const HTTP_LIMITS = {
  headerBytes: 16_384,
  headerCount: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** A request that arrives at this rate has more time, up to `slowRequestMs`. */
  bytesPerMs: 4,
  slowRequestMs: 300_000,
  keepAliveTimeoutMs: 5_000,
  /** Node closes a connection whose answer makes no progress for one or two such intervals. */
  stalledMs: 60_000,
  /** How long a client may take for a part of a stream, which may keep a snapshot open. */
  chunkMs: 60_000,
  /** How often connections are checked for what takes too long. */
  checkIntervalMs: 500,
  connections: 10_000,
  /** What the requests take together that wait for earlier answers on their connections. */
  waitingBytes: 67_108_864,
  backlog: 4_096,
  /** How often a client that has closed its sending side is asked whether it still reads. */
  probeMs: 1_000,
  /** How long, and how much, a closing connection still reads, so that the answer is not lost. */
  drainMs: 10_000,
  drainBytes: 67_108_864,
  /** How long a closing server still accepts queued connections, and requests on open ones. */
  graceMs: 500,
  closeMs: 10_000,
};

export const DISPATCH_LIMITS = {
  heldBackMs: 1_000,
  /** Bodies from this size count towards `bodiesBytes`; each loop iteration parses one of them. */
  largeBodyBytes: 65_536,
  bodiesBytes: 67_108_864,
  largeReplyCharacters: 16_384,
  repliesBytes: 201_326_592,
  /** What the largest page, of 60 MB, takes while it is read: the engine and Node each copy it. */
  largePageBytes: 125_829_120,
  /** How long a request waits for room while no large page is being read, and how many wait. */
  replyWaitMs: 5_000,
  waitingReplies: 100,
  streams: 1_000,
};
