// Stays, and runs whenever something has changed in the folder or in the service.
import { type FSWatcher, watch } from 'node:fs';
import { posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SYNC_TIMES } from './effects.ts';
import type { Watched } from './folder.ts';

/** What is followed. */
export interface Followed {
  /** Returns where a folder is. */
  readonly at: (folder: string) => string;
  /** If it rejects, it is called again. */
  readonly run: (watched: Watched) => Promise<void>;
  /** Calls `onChange` when the service may have changed; resolves when the stream ends. */
  readonly listen: (onChange: () => void) => Promise<void>;
  readonly warn: (line: string) => void;
  readonly stop: AbortSignal;
}

/** Resolves when `stop` is aborted and the last run has come to rest. */
export async function follow({ at, run, listen, warn, stop }: Followed): Promise<void> {
  let lookMs = SYNC_TIMES.look;
  let nextLookMs = 0;
  let told = '';
  let waiting = new AbortController();
  const ring = () => waiting.abort();
  stop.addEventListener('abort', ring);
  const lookSoon = () => {
    nextLookMs = Math.min(nextLookMs, performance.now() + SYNC_TIMES.lookUnwatched);
  };
  const folders = new WatchedFolders(at, ring, ({ message }) => {
    if (lookMs === SYNC_TIMES.lookUnwatched) return;
    lookMs = SYNC_TIMES.lookUnwatched;
    warn(`looks every ${lookMs / 1_000} s, for it cannot watch: ${message}`);
    lookSoon();
    ring();
  });

  async function listenAlways(): Promise<void> {
    while (!stop.aborted) {
      await listen(ring).catch(() => {});
      await delay(SYNC_TIMES.relisten, undefined, { signal: stop }).catch(() => {});
    }
  }

  const listening = listenAlways();
  while (!stop.aborted) {
    waiting = new AbortController();
    // Finds what no watch has told.
    if (performance.now() >= nextLookMs) {
      folders.forget('');
      nextLookMs = performance.now() + lookMs;
    }
    try {
      await run(folders);
      told = '';
    } catch (error) {
      const { message } = error as Error;
      if (!stop.aborted && message !== told) warn(`notes-server: ${message}`);
      told = message;
      // The folders may be others by now, of which no watch tells.
      folders.listings.clear();
      lookSoon();
    }
    const restMs = Math.max(0, Math.ceil(nextLookMs - performance.now()));
    await delay(restMs, undefined, { signal: waiting.signal }).catch(() => {});
    await delay(SYNC_TIMES.collect, undefined, { signal: stop }).catch(() => {});
  }
  folders.forget('');
  await listening;
}

/** Folders, of which those that have not changed need not be read again. */
class WatchedFolders implements Watched {
  readonly listings: Watched['listings'] = new Map();
  readonly #watches = new Map<string, FSWatcher>();
  readonly #at: Followed['at'];
  readonly #onChange: () => void;
  readonly #onError: (error: Error) => void;
  /** On Linux, such a watch takes one of the few that there are for each file. */
  readonly #isRecursive = process.platform !== 'linux';

  constructor(at: Followed['at'], onChange: () => void, onError: (error: Error) => void) {
    this.#at = at;
    this.#onChange = onChange;
    this.#onError = onError;
  }

  watch(folder: string): void {
    if (this.#watches.has(this.#isRecursive ? '' : folder)) return;
    const onError = (error: Error) => {
      this.#onError(error);
      this.forget(folder);
    };
    try {
      const options = { recursive: this.#isRecursive };
      const each = watch(this.#at(folder), options, (_, name) => this.#notice(folder, name));
      this.#watches.set(folder, each.on('error', onError));
    } catch (error) {
      // One that cannot be read, or has gone, is not watched, but the others are.
      if (!/^E(?:ACCES|NOENT)$/.test(Object(error).code)) onError(error as Error);
    }
  }

  /** Forgets a folder and those in it: the next run watches and reads them again. */
  forget(place: string): void {
    const isIn = (folder: string) => place === '' || `${folder}/`.startsWith(`${place}/`);
    for (const [folder, each] of this.#watches)
      if (isIn(folder) && this.#watches.delete(folder)) each.close();
    for (const folder of this.listings.keys()) if (isIn(folder)) this.listings.delete(folder);
  }

  #notice(folder: string, name: string | null): void {
    if (name?.startsWith('.')) return;
    if (this.#isRecursive || name === null) this.listings.clear();
    this.listings.delete(folder);
    const inside = posix.join(folder, name ?? '');
    // A folder of this name may be another one by now.
    if (inside !== folder && this.#watches.has(inside)) this.forget(inside);
    this.#onChange();
  }
}
