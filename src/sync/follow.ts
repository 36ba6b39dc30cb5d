// Stays, and runs whenever something has changed in the folder or in the service.
import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { SYNC_TIMES } from './effects.ts';

/** What is followed. */
export interface Followed {
  /** Returns where a folder is. */
  readonly at: (folder: string) => string;
  /** Resolves with all folders; if it rejects, it is called again. */
  readonly run: () => Promise<readonly string[]>;
  /** Calls `onChange` when the service may have changed; resolves when the stream ends. */
  readonly listen: (onChange: () => void) => Promise<void>;
  readonly warn: (line: string) => void;
  readonly stop: AbortSignal;
}

/** Resolves when `stop` is aborted and the last run has come to rest. */
export async function follow({ at, run, listen, warn, stop }: Followed): Promise<void> {
  const watches = new Map<string, FSWatcher>();
  let lookMs = SYNC_TIMES.look;
  let told = '';
  let waiting = new AbortController();
  const ring = () => waiting.abort();
  stop.addEventListener('abort', ring);

  function watchAll(folders: readonly string[]): void {
    // On Linux, a recursive watch takes one of the few that there are for each file.
    const isRecursive = process.platform !== 'linux';
    const wanted = new Set(isRecursive ? [''] : folders);
    for (const [folder, each] of watches)
      if (!wanted.has(folder) && watches.delete(folder)) each.close();
    for (const folder of wanted) if (!watches.has(folder)) watchOne(folder, isRecursive);
  }

  function watchOne(folder: string, recursive: boolean): void {
    const onError = ({ message }: Error) => {
      if (lookMs > SYNC_TIMES.lookUnwatched)
        warn(`looks every ${SYNC_TIMES.lookUnwatched / 1_000} s, for it cannot watch: ${message}`);
      lookMs = SYNC_TIMES.lookUnwatched;
      watches.get(folder)?.close();
      watches.delete(folder);
    };
    try {
      const each = watch(at(folder), { recursive }, (_, name) => {
        if (!name?.startsWith('.')) ring();
      });
      watches.set(folder, each.on('error', onError));
    } catch (error) {
      onError(error as Error);
    }
  }

  async function listenAlways(): Promise<void> {
    while (!stop.aborted) {
      await listen(ring).catch(() => {});
      await delay(SYNC_TIMES.relisten, undefined, { signal: stop }).catch(() => {});
    }
  }

  const listening = listenAlways();
  while (!stop.aborted) {
    waiting = new AbortController();
    try {
      watchAll(await run());
    } catch (error) {
      const { message } = error as Error;
      if (!stop.aborted && message !== told) warn(`notes-server: ${message}`);
      told = message;
      // The folders may be others by now.
      watchAll([]);
    }
    await delay(lookMs, undefined, { signal: waiting.signal }).catch(() => {});
    await delay(SYNC_TIMES.collect, undefined, { signal: stop }).catch(() => {});
  }
  for (const each of watches.values()) each.close();
  await listening;
}
