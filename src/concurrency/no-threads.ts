// The error of the thread pool. It has a file of its own so that it can be handled without loading
// the pool.

/** There are no threads for a request now. The message may be shown to clients. */
export class NoThreads extends Error {
  override readonly name = 'NoThreads';
}
