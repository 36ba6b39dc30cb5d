// The types of a demonstration: work for threads of the pool, with its preparation and its answer.
// Each demonstration has its own file, which the threads load too, so it imports only primitives.

/** A demonstration. Only `work` runs in the threads. */
export interface Demonstration<Request, Input, Result> {
  /** Prepares a run, and allocates the memory that its threads share, for a valid request. */
  prepare(request: Request): {
    /** The input of each thread. It is cloned, but shared memory stays shared. */
    readonly inputs: readonly Input[];
    /** Returns the answer as JSON text. `results` has the result of each thread, by index. */
    answer(results: readonly Result[]): string;
  };
  /** Does the work of thread `index`, counted from 0. */
  work(input: Input, index: number): Result;
}
