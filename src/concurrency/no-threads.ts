// The error of the thread pool, in its own file so that handling it does not load the pool.

/** No threads are available for a request. The message may be shown to clients. */
export class NoThreads extends Error {
  override readonly name = 'NoThreads';
}
