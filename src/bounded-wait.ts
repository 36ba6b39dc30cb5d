// Waits of bounded length: for threads, a turn, room for an answer, or news.

/** When a wait ends without success. */
interface Bounds {
  readonly ms: number;
  /** Returns the reason to reject when the time is over. */
  readonly late: () => unknown;
  /** If it returns true when the time is over, the wait goes on for the same time. */
  readonly goesOn?: () => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Settles as `begin` says, late, or as `signal` aborts; then calls what `begin` has returned. */
export function waitWithin<Result>(
  { ms, late, goesOn, signal }: Bounds,
  begin: (
    resolve: (result: Result) => void,
    reject: (reason: unknown) => void,
  ) => (() => void) | undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let leave: (() => void) | undefined;
    let isOver = false;
    const end = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      settle();
      leave?.();
    };
    const fail = (reason: unknown) => end(() => reject(reason));
    const abort = () => fail(signal?.reason);
    const expire = () => (goesOn?.() ? timer.refresh() : fail(late()));
    // Newer versions of Node write a warning if the time is negative.
    const timer = setTimeout(expire, Math.max(0, ms));
    signal?.addEventListener('abort', abort);
    leave = begin((result) => end(() => resolve(result)), fail);
    // `begin` may have ended it, for example because the system refused a thread.
    if (isOver) leave?.();
  });
}
