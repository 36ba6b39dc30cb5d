// The files and folders that a command has begun and not finished. A signal ends a command at
// once, before it can remove them itself.
import { rmSync } from 'node:fs';
import { auxiliaryPaths } from '../storage/sqlite/paths.ts';

const unfinished = new Set<string>();

/** Notes a path that nobody may find later, until the result is disposed of. */
export function noteUnfinished(path: string): Disposable {
  unfinished.add(path);
  return { [Symbol.dispose]: () => void unfinished.delete(path) };
}

/** Removes all that is unfinished. Never throws: the process is about to end. */
export function removeUnfinished(): void {
  for (const path of [...unfinished].flatMap((each) => [each, ...auxiliaryPaths(each)])) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {}
  }
}
