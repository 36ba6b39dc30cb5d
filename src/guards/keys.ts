// The keys of clients, compared as digests and in constant time, so that no answer reveals them.
import { hash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';

/** Bounds the time of a request: each sent key is compared with all keys. */
const MAX_KEYS = 512;

/** Visible ASCII without commas, which fits into a header and into a list. */
export const KEY = /^[!-+\--~]+$/;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** The holder of a key: its digest (base64), and its number in the order of the source, from 1. */
export interface Holder {
  readonly digest: string;
  readonly number: number;
}

/** Where keys come from: texts, and a file with a key on each line that is no comment (`#`). */
export interface KeySource {
  readonly apiKeys: readonly string[];
  readonly apiKeysFile: string | undefined;
}

/** Whether there is a source of keys; without one, nobody needs a key. */
export function requiresKey({ apiKeys, apiKeysFile }: KeySource): boolean {
  return apiKeys.length > 0 || apiKeysFile !== undefined;
}

/** The keys of a source; none before the first {@link Keys.reload}. */
export class Keys {
  readonly #source: KeySource;
  #digests: readonly Buffer[] = [];
  #lastReload = Promise.resolve(0);

  constructor(source: KeySource) {
    this.#source = source;
  }

  get count(): number {
    return this.#digests.length;
  }

  /** Returns the holder of the key in `authorization: Bearer` or else `x-api-key`. */
  holderOf(headers: IncomingHttpHeaders): Holder | 'none' | 'wrong' {
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    const sent = bearer ?? String(headers['x-api-key'] ?? '');
    if (sent === '') return 'none';
    const sentDigest = digest(sent);
    // Compares with all digests; `findIndex` would stop at a match.
    let number = 0;
    this.#digests.forEach((each, index) => {
      if (timingSafeEqual(each, sentDigest)) number = index + 1;
    });
    return number > 0 ? { digest: sentDigest.toString('base64'), number } : 'wrong';
  }

  /** Reads the file again; resolves with the number of keys. If it rejects, the old keys stay. */
  reload(): Promise<number> {
    // In sequence, so that a slow reload cannot undo a later one.
    this.#lastReload = this.#lastReload.catch(() => 0).then(() => this.#load());
    return this.#lastReload;
  }

  async #load(): Promise<number> {
    const { apiKeys, apiKeysFile } = this.#source;
    const listed = apiKeysFile === undefined ? [] : await readKeys(apiKeysFile);
    const keys = [...new Set([...apiKeys, ...listed])];
    if (keys.length > MAX_KEYS)
      throw new Error(`there are ${keys.length} keys; at most ${MAX_KEYS} are allowed`);
    this.#digests = keys.map(digest);
    return keys.length;
  }
}

/** Resolves with the keys of `source`, if it has any. Rejects as {@link Keys.reload} does. */
export async function loadKeys(source: KeySource): Promise<Keys | undefined> {
  if (!requiresKey(source)) return undefined;
  const keys = new Keys(source);
  await keys.reload();
  return keys;
}

async function readKeys(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const { code = '' } = cause;
    throw new Error(`cannot read the keys in ${file}: ${REASONS[code] ?? code}`, { cause });
  });
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const wrong = keys.find((key) => !KEY.test(key));
  if (wrong !== undefined) {
    const where = `line ${lines.indexOf(wrong) + 1} of ${file}`;
    throw new Error(`${where} is not a key: a key is visible ASCII without commas`);
  }
  if (keys.length === 0) throw new Error(`${file} contains no key`);
  return keys;
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
