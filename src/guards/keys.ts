// The keys of clients. Only their digests are kept, so that nothing can reveal them.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Key, KeyEntry } from '../http/exchange.ts';
import { isSame, readKeys } from './key-file.ts';

/** Bounds the memory for keys, and the metrics, which count for each key. */
const MAX_KEYS = 10_000;

/** The longest time of a timer; Node would take a longer one for 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Where keys come from: texts, and a file with a key on each line that is no comment (`#`). */
export interface KeySource {
  readonly apiKeys: readonly string[];
  readonly apiKeysFile: string | undefined;
}

/** Whether there is a source of keys; without one, nobody needs a key. */
export function requiresKey({ apiKeys, apiKeysFile }: KeySource): boolean {
  return apiKeys.length > 0 || apiKeysFile !== undefined;
}

type ListedKey = Key & { isRevoked: boolean };

/** The keys of a source; none before the first {@link Keys.reload}. */
export class Keys {
  readonly #source: KeySource;
  readonly #onEnd: () => void;
  #byDigest: ReadonlyMap<string, ListedKey> = new Map();
  #lastReload = Promise.resolve(0);
  #nextEnd: NodeJS.Timeout | undefined;
  entries: readonly KeyEntry[] = [];

  /** Calls `onEnd` whenever a key may have expired, or may have been removed or changed. */
  constructor(source: KeySource, onEnd: () => void) {
    this.#source = source;
    this.#onEnd = onEnd;
  }

  /** Returns the key in `authorization: Bearer` or else `x-api-key`; it may have expired. */
  keyIn(headers: IncomingHttpHeaders): Key | 'none' | 'wrong' {
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    const sent = bearer ?? String(headers['x-api-key'] ?? '');
    if (sent === '') return 'none';
    // How long the search takes says nothing about a key: nobody can choose the digest of a guess.
    return this.#byDigest.get(hash('sha256', sent, 'base64')) ?? 'wrong';
  }

  /** Reads the file again, or uses `entries`; resolves with the count. If it rejects, keeps all. */
  reload(entries?: readonly KeyEntry[]): Promise<number> {
    // In sequence, so that a slow reload cannot undo a later one.
    this.#lastReload = this.#lastReload.catch(() => 0).then(() => this.#load(entries));
    return this.#lastReload;
  }

  async #load(given: readonly KeyEntry[] | undefined): Promise<number> {
    const { apiKeys, apiKeysFile } = this.#source;
    const entries = given ?? (await readKeys(apiKeys, apiKeysFile));
    if (entries.length > MAX_KEYS)
      throw new Error(`there are ${entries.length} keys; at most ${MAX_KEYS} are allowed`);
    const before = this.#byDigest;
    const kept = (entry: KeyEntry) => {
      const known = before.get(entry.digest);
      return known && isSame(entry, known) ? known : listedKey(entry);
    };
    this.#byDigest = new Map(entries.map((entry) => [entry.digest, kept(entry)]));
    for (const [digest, key] of before) key.isRevoked = this.#byDigest.get(digest) !== key;
    this.entries = entries;
    this.#awaitNextEnd();
    this.#onEnd();
    return entries.length;
  }

  #awaitNextEnd(): void {
    clearTimeout(this.#nextEnd);
    const now = Date.now();
    const ends = this.entries.map(({ expiresMs }) => expiresMs ?? 0).filter((end) => end > now);
    if (ends.length === 0) return;
    const end = () => {
      // First, because a timer may be early: a key that expires in between must not be forgotten.
      this.#awaitNextEnd();
      this.#onEnd();
    };
    this.#nextEnd = setTimeout(end, Math.min(...ends.map((each) => each - now), MAX_TIMER_MS));
    this.#nextEnd.unref();
  }
}

function listedKey(entry: KeyEntry): ListedKey {
  return {
    ...entry,
    isRevoked: false,
    get isOver() {
      return this.isRevoked || (this.expiresMs !== null && Date.now() >= this.expiresMs);
    },
  };
}

/** Resolves with the keys of `source`, or `entries`, if it has any. Rejects as the reload does. */
export async function loadKeys(
  source: KeySource,
  entries?: readonly KeyEntry[],
  onEnd: () => void = () => {},
): Promise<Keys | undefined> {
  if (!requiresKey(source)) return undefined;
  const keys = new Keys(source, onEnd);
  await keys.reload(entries);
  return keys;
}
