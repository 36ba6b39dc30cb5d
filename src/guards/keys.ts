// The keys of clients. Only their digests are kept, so that nothing can reveal them.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientKey } from '../http/route.ts';
import { type KeyEntry, type KeySource, readKeys } from './key-file.ts';

/** Bounds the memory for keys, and the metrics, which count for each key. */
const MAX_KEYS = 10_000;
const MAX_READ_MS = 5_000;

/** Whether there is a source of keys; without one, nobody needs a key. */
export function requiresKey({ apiKeys, apiKeysFile }: KeySource): boolean {
  return apiKeys.length > 0 || apiKeysFile !== undefined;
}

/** The keys of a source; none before the first {@link Keys.reload}. */
export class Keys {
  readonly #source: KeySource;
  #byDigest: ReadonlyMap<string, ClientKey> = new Map();
  #lastReload = Promise.resolve(0);
  entries: readonly KeyEntry[] = [];

  constructor(source: KeySource) {
    this.#source = source;
  }

  /** Returns the key of a request, by the first of the ways to send it; it may have expired. */
  keyIn(headers: IncomingHttpHeaders): ClientKey | 'none' | 'wrong' {
    const { authorization = '' } = headers;
    const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    const sent = bearer ?? (String(headers['x-api-key'] ?? '') || passwordIn(authorization));
    if (sent === '') return 'none';
    // How long the search takes says nothing about a key: nobody can choose the digest of a guess.
    return this.#byDigest.get(hash('sha256', sent, 'base64')) ?? 'wrong';
  }

  /** Reads the file, or uses `entries`; resolves with the count. If it rejects, no key changes. */
  reload(entries?: readonly KeyEntry[]): Promise<number> {
    // In sequence, so that a slow reload cannot undo a later one.
    this.#lastReload = this.#lastReload.catch(() => 0).then(() => this.#load(entries));
    return this.#lastReload;
  }

  async #load(given: readonly KeyEntry[] | undefined): Promise<number> {
    const entries = given ?? (await Promise.race([readKeys(this.#source), failLate()]));
    if (entries.length > MAX_KEYS)
      throw new Error(`there are ${entries.length} keys; at most ${MAX_KEYS} are allowed`);
    this.#byDigest = new Map(entries.map((entry) => [entry.digest, this.#keyOf(entry)]));
    this.entries = entries;
    return entries.length;
  }

  #keyOf(entry: KeyEntry): ClientKey {
    const listed = () => this.#byDigest.get(entry.digest);
    return {
      ...entry,
      get isOver() {
        const isListed = listed() === this || isSame(entry, listed());
        return !isListed || (this.expiresMs !== null && Date.now() >= this.expiresMs);
      },
    };
  }
}

function isSame(one: KeyEntry, other: KeyEntry | undefined): boolean {
  return Object.entries(one).every(([name, value]) => other?.[name as keyof KeyEntry] === value);
}

/** Returns the password of a user with any name (RFC 7617), or nothing if there is none. */
function passwordIn(authorization: string): string {
  const [, sent = ''] = /^Basic +(\S+)$/i.exec(authorization) ?? [];
  // Keys are ASCII, and a name may be in any encoding.
  return /^[^:]*:(\S+)$/.exec(Buffer.from(sent, 'base64').toString('latin1'))?.[1] ?? '';
}

/** Rejects when a file system has had enough time, lest it hold up all later reloads. */
async function failLate(): Promise<never> {
  await delay(MAX_READ_MS, undefined, { ref: false });
  throw new Error(`the file of keys could not be read within ${MAX_READ_MS / 1_000} seconds`);
}

/** Resolves with loaded keys, or undefined if `source` is empty. Rejects as the reload does. */
export async function loadKeys(source: KeySource, entries?: readonly KeyEntry[]) {
  const keys = requiresKey(source) ? new Keys(source) : undefined;
  await keys?.reload(entries);
  return keys;
}
