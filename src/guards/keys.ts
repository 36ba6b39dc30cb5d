// The keys that let clients in. They are kept as digests of equal length, and a sent one is compared with all of them in
// constant time: how long it takes says nothing about how nearly it was right.
import { hash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';

/** How many keys there may be: each sent key is compared with all of them. */
const KEYS_MOST = 512;

/** Visible ASCII: what a header can carry and a list can part. */
const KEY = /^[!-+\--~]+$/;

/** Who sent a request: the holder of a key (a name for it that is not the key), nobody, or somebody with a wrong key. */
export type Holder = { readonly key: string } | 'none' | 'wrong';

/** The keys that are in force. */
export interface Keys {
  /** Says whose key the headers carry: as `authorization: Bearer KEY` (RFC 6750), else as `x-api-key: KEY`. */
  holderOf(headers: IncomingHttpHeaders): Holder;
  /** Reads the file again; rejects, and nothing changes, if it cannot be read or holds no key. Returns how many there are. */
  reload(): Promise<number>;
}

/** Where keys come from. */
export interface KeySource {
  readonly texts: readonly string[];
  /** A file with one key a line; empty lines and those that begin with `#` are skipped. */
  readonly file: string | undefined;
}

/** Returns the keys of `source`. Rejects with an Error, whose message is one line for a person, as `reload` does. */
export async function loadKeys({ texts, file }: KeySource): Promise<Keys> {
  let digests: readonly Buffer[] = [];
  let loading = Promise.resolve(0);

  async function load(): Promise<number> {
    const listed = file === undefined ? [] : keysIn(await read(file), file);
    const keys = [...new Set([...texts, ...listed])];
    if (keys.length > KEYS_MOST) throw new Error(`there are ${keys.length} keys, and ${KEYS_MOST} are the most`);
    digests = keys.map(digest);
    return keys.length;
  }

  /** One after the other: a slow one must not bring back what a later one has changed. */
  function reload(): Promise<number> {
    loading = loading.catch(() => 0).then(load);
    return loading;
  }

  await reload();

  return {
    holderOf(headers) {
      const sent = sentKey(headers);
      if (sent === undefined) return 'none';
      const found = digest(sent);
      // All of them are compared, whichever it is.
      const equal = digests.filter((each) => timingSafeEqual(each, found));
      return equal.length > 0 ? { key: found.toString('base64') } : 'wrong';
    },

    reload,
  };
}

/** Whether a text can be a key. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

function sentKey(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return bearer ?? (String(headers['x-api-key'] ?? '') || undefined);
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read the keys in ${file}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}

function keysIn(text: string, file: string): string[] {
  const lines = text.split(/\r?\n/).map((line, index) => ({ key: line.trim(), number: index + 1 }));
  const entries = lines.filter(({ key }) => key !== '' && !key.startsWith('#'));
  const wrong = entries.find(({ key }) => !isKey(key));
  if (wrong) throw new Error(`line ${wrong.number} of ${file} is no key: a key is visible ASCII without commas`);
  if (entries.length === 0) throw new Error(`${file} holds no key`);
  return entries.map(({ key }) => key);
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
