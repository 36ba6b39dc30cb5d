// Measures the heap after garbage collection.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Runs a full garbage collection. */
export const collectGarbage: () => void = runInNewContext('gc');

/** Collects the garbage and returns the size of the heap in MB. */
export function heapMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_048_576;
}
