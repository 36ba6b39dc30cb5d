// What a demonstration is: work for a crew of threads, and what is made of it before and after. Each stands in a file of
// its own, which the threads load too: such a file imports nothing but the primitives.

/** Where a demonstration is to be had. */
export type DemonstrationPath =
  | '/counter/increment'
  | '/semaphore/run'
  | '/event/sync'
  | '/pool/run'
  | '/producer-consumer/run'
  | '/thread-local/run';

/** A demonstration. `work` runs in the threads, all else in the main thread. */
export interface Demonstration<Request, Input, Result> {
  /** Prepares a run for a request that fits the contract. */
  prepare(request: Request): Run<Input, Result>;
  /** What each thread of the crew does; `index` counts them from 0. */
  work(input: Input, index: number): Result;
}

/** One run of a demonstration, with the memory that its threads share. */
export interface Run<Input, Result> {
  /** How many threads it takes. */
  readonly size: number;
  /** What thread `index` is given: structured-cloneable, shared memory stays shared. */
  inputFor(index: number): Input;
  /** Returns the answer, as JSON text, from what the threads returned and left in the shared memory. */
  answer(results: readonly Result[]): string;
}
