// What the heap holds, without what nobody holds any more.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects what nobody holds any more. */
export const collectGarbage: () => void = runInNewContext('gc');

/** Collects the garbage and returns how large the heap is, in MB. */
export function heapMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_048_576;
}
