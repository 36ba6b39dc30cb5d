// What a demonstration is: work for threads of the pool, with its preparation and its answer. Each
// has a file of its own. The threads load it too, so it imports nothing but the primitives.

/** The path of a demonstration. */
export type DemonstrationPath =
  | '/counter/increment'
  | '/semaphore/run'
  | '/event/sync'
  | '/pool/run'
  | '/producer-consumer/run'
  | '/thread-local/run';

/** A demonstration. `work` runs in the threads, the rest in the main thread. */
export interface Demonstration<Request, Input, Result> {
  /** Prepares a run for a validated request. */
  prepare(request: Request): Run<Input, Result>;
  /** Does the work of thread `index`, counted from 0. */
  work(input: Input, index: number): Result;
}

/** One run of a demonstration, with the memory that its threads share. */
export interface Run<Input, Result> {
  /** How many threads it needs. */
  readonly size: number;
  /** Returns the input of thread `index`. It is cloned, but shared memory stays shared. */
  inputFor(index: number): Input;
  /** Returns the answer as JSON text. `results` are those of the threads, by index. */
  answer(results: readonly Result[]): string;
}
