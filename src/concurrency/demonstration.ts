// The types of a demonstration: work for threads of the pool, with its preparation and its answer.
// Each demonstration has its own file, which the threads load too, so it imports only primitives.

/** A demonstration. Only `work` runs in the threads. */
export interface Demonstration<Request, Input, Result> {
  /** Prepares a run for a request that has been validated. */
  prepare(request: Request): Run<Input, Result>;
  /** Does the work of thread `index`, counted from 0. */
  work(input: Input, index: number): Result;
}

/** One run of a demonstration; it owns the memory that its threads share. */
interface Run<Input, Result> {
  /** The input of each thread. It is cloned, but shared memory stays shared. */
  readonly inputs: readonly Input[];
  /** Returns the answer as JSON text. `results` has the result of each thread, by index. */
  answer(results: readonly Result[]): string;
}
