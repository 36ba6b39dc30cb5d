// The keys that clients may use. Only digests of equal length are kept, and a sent key is compared
// with all of them in constant time, so the time of an answer reveals nothing about the keys.
import { hash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';

/** Each sent key is compared with all keys. */
const MAX_KEYS = 512;

/** Visible ASCII without commas, so that a key fits into a header and into a list. */
const KEY = /^[!-+\--~]+$/;

/**
 * Who sent a request: the holder of a key, by the digest of the key; a client with no key or a
 * wrong one.
 */
export type Holder = { readonly key: string } | 'none' | 'wrong';

/** Where keys come from. */
export interface KeySource {
  readonly texts: readonly string[];
  /** A file with one key per line; empty lines and lines that begin with `#` are skipped. */
  readonly file: string | undefined;
}

/** The keys of a source; none before the first {@link Keys.reload}. */
export class Keys {
  readonly #source: KeySource;
  #digests: readonly Buffer[] = [];
  #lastReload = Promise.resolve(0);

  constructor(source: KeySource) {
    this.#source = source;
  }

  /**
   * Returns the holder of the key in `authorization: Bearer KEY` (RFC 6750), or else in `x-api-key:
   * KEY`.
   */
  holderOf(headers: IncomingHttpHeaders): Holder {
    const sent = sentKey(headers);
    if (sent === undefined) return 'none';
    const sentDigest = digest(sent);
    // `filter` compares with all digests; `some` would stop at a match.
    const equal = this.#digests.filter((each) => timingSafeEqual(each, sentDigest));
    return equal.length > 0 ? { key: sentDigest.toString('base64') } : 'wrong';
  }

  /**
   * Reads the file again; resolves with the number of keys. Rejects, and keeps the old keys, if the
   * file cannot be read or has no valid keys. The message of the Error is one line for a person.
   */
  reload(): Promise<number> {
    // One after the other, so that a slow reload cannot restore keys that a later one has replaced.
    this.#lastReload = this.#lastReload.catch(() => 0).then(() => this.#load());
    return this.#lastReload;
  }

  async #load(): Promise<number> {
    const { texts, file } = this.#source;
    const listed = file === undefined ? [] : parseKeys(await readKeyFile(file), file);
    const keys = [...new Set([...texts, ...listed])];
    if (keys.length > MAX_KEYS)
      throw new Error(`there are ${keys.length} keys; at most ${MAX_KEYS} are allowed`);
    this.#digests = keys.map(digest);
    return keys.length;
  }
}

/** Resolves with the keys of `source`, loaded. Rejects as {@link Keys.reload} does. */
export async function loadKeys(source: KeySource): Promise<Keys> {
  const keys = new Keys(source);
  await keys.reload();
  return keys;
}

/** Whether a text can be a key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

function sentKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return bearer ?? (String(headers['x-api-key'] ?? '') || undefined);
}

async function readKeyFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read the keys in ${file}: ${(cause as NodeJS.ErrnoException).code}`, {
      cause,
    });
  }
}

function parseKeys(text: string, file: string): string[] {
  const lines = text.split(/\r?\n/).map((line, index) => ({ key: line.trim(), number: index + 1 }));
  const entries = lines.filter(({ key }) => key !== '' && !key.startsWith('#'));
  const wrong = entries.find(({ key }) => !isKey(key));
  if (wrong)
    throw new Error(
      `line ${wrong.number} of ${file} is not a key: a key is visible ASCII without commas`,
    );
  if (entries.length === 0) throw new Error(`${file} contains no key`);
  return entries.map(({ key }) => key);
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
