// The file of keys: each line has a key and its attributes. No error quotes any part of a line,
// because a mistake can put the key anywhere.
import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { suggestion } from '../suggestion.ts';
import { parseTime } from '../time.ts';

/** Visible ASCII without commas, which fits into a header and into a list. */
export const KEY = /^[!-+\--~]+$/;

const SECOND_MS = 1_000;
const DAY_LENGTH = '2027-03-01'.length;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** What a line says of its key; null where it says nothing. */
interface Attributes {
  readonly name: string | null;
  readonly access: 'read' | 'write';
  /** In UTC, to the second. A day is shown by its last second, and ends a second later. */
  readonly expiresAt: string | null;
  readonly expiresMs: number | null;
}

/** A key by its digest (SHA-256 in base64), so that it can be passed on in JSON. */
export interface KeyEntry extends Attributes {
  readonly digest: string;
  /** What the log calls it: its name, or else its number in the order of the source, from 1. */
  readonly label: string;
}

const PLAIN: Attributes = { name: null, access: 'write', expiresAt: null, expiresMs: null };

interface Attribute {
  readonly rule: string;
  /** Returns undefined if the text breaks the rule. */
  readonly parse: (text: string) => Partial<Attributes> | undefined;
}

const ATTRIBUTES: Readonly<Record<string, Attribute>> = {
  name: {
    rule: '1 to 64 letters, digits, dots, underscores and hyphens',
    parse: (name) => (/^[\w.-]{1,64}$/.test(name) ? { name } : undefined),
  },
  access: {
    rule: 'read or write',
    parse: (access) => (access === 'read' || access === 'write' ? { access } : undefined),
  },
  expires: {
    rule: 'a date such as 2027-03-01 or a time such as 2027-03-01T12:00:00Z',
    parse: parseExpiry,
  },
};

/** Parses attributes in the form NAME=VALUE. Throws an Error with one rule, and quotes nothing. */
export function parseAttributes(texts: readonly string[]): Attributes {
  const values = new Map<string, Partial<Attributes>>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
    const attribute = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name] : undefined;
    if (!attribute) {
      const names = Object.keys(ATTRIBUTES);
      const known = names.map((each) => `${each}=`).join(', ');
      throw new Error(`only ${known} may follow the key${suggestion(name, names)}`);
    }
    const parsed = attribute.parse(value);
    if (!parsed) throw new Error(`${name} takes ${attribute.rule}`);
    if (values.has(name)) throw new Error(`${name} is given twice`);
    values.set(name, parsed);
  }
  return Object.assign({}, PLAIN, ...values.values());
}

function parseExpiry(text: string): Partial<Attributes> | undefined {
  const isDay = text.length === DAY_LENGTH;
  const shownMs = parseTime(isDay ? `${text}T23:59:59Z` : text)?.floor;
  if (shownMs === undefined) return undefined;
  const expiresAt = new Date(shownMs).toISOString().replace(/\.\d+/, '');
  return { expiresMs: isDay ? shownMs + SECOND_MS : shownMs, expiresAt };
}

/** Resolves with the keys in `apiKeys` and in a file; rejects if it cannot be read or is wrong. */
export async function readKeys(
  apiKeys: readonly string[],
  file: string | undefined,
): Promise<readonly KeyEntry[]> {
  const list = new KeyList();
  for (const key of apiKeys) list.add(key, [], 'NOTES_API_KEYS');
  if (file === undefined) return list.entries;
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const { code = '' } = cause;
    throw new Error(`cannot read the keys in ${file}: ${REASONS[code] ?? code}`, { cause });
  });
  let isEmpty = true;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [key = '', ...attributes] = line.trim().split(/\s+/);
    if (key === '' || key.startsWith('#')) continue;
    isEmpty = false;
    const place = `line ${index + 1}`;
    try {
      list.add(key, attributes, place);
    } catch (error) {
      throw new Error(`${place} of ${file}: ${(error as Error).message}`);
    }
  }
  if (isEmpty) throw new Error(`${file} contains no key`);
  return list.entries;
}

/** The distinct keys so far, and where each was found. */
class KeyList {
  readonly entries: KeyEntry[] = [];
  readonly #placeOfDigest = new Map<string, string>();
  readonly #placeOfLabel = new Map<string, string>();

  /** Throws an Error if the key or its attributes are wrong, or contradict an earlier line. */
  add(key: string, texts: readonly string[], place: string): void {
    if (!KEY.test(key)) throw new Error('a key is visible ASCII without commas');
    if (Object.keys(ATTRIBUTES).some((name) => key.startsWith(`${name}=`)))
      throw new Error('the key must come before its attributes');
    const attributes = parseAttributes(texts);
    const digest = hash('sha256', key, 'base64');
    const earlier = this.#placeOfDigest.get(digest);
    if (earlier !== undefined) {
      const known = this.entries.find((each) => each.digest === digest);
      if (isSame(attributes, known)) return;
      throw new Error(`${earlier} has the same key with other attributes`);
    }
    const label = attributes.name ?? String(this.entries.length + 1);
    const namesake = this.#placeOfLabel.get(label);
    if (namesake !== undefined)
      throw new Error(`its name, or else its number, is the name or number of ${namesake}`);
    this.#placeOfDigest.set(digest, place);
    this.#placeOfLabel.set(label, place);
    this.entries.push({ ...attributes, digest, label });
  }
}

/** Whether `other` has all members of `one` with the same values. */
export function isSame<Values extends object>(one: Values, other: Values | undefined): boolean {
  return Object.entries(one).every(([name, value]) => other?.[name as keyof Values] === value);
}

/** Whether users can read a file other than its owner, or the group of a file of root. */
export async function isReadByOthers(file: string): Promise<boolean> {
  const { mode = 0, uid = 0 } = (await stat(file).catch(() => undefined)) ?? {};
  // systemd gives its credentials to a service as files of root, readable by a group.
  return process.platform !== 'win32' && (mode & (uid === 0 ? 0o007 : 0o077)) !== 0;
}
