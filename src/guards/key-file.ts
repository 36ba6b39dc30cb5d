// The file of keys: each line has a key and its attributes. No error quotes any part of a line,
// because a mistake can put the key anywhere.
import { hash, randomBytes } from 'node:crypto';
import { constants, open, stat } from 'node:fs/promises';
import type { ClientKey } from '../http/route.ts';
import { suggestion } from '../suggestion.ts';
import { parseTime } from '../time.ts';

/** Visible ASCII without commas, which fits into a header and into a list, and not in quotes. */
export const KEY = /^(?!(["']).*\1$)[!-+\--~]+$/;

/** A key as it is listed; representable in JSON. */
export type KeyEntry = Omit<ClientKey, 'isOver'>;

/** Where keys come from: texts, and a file with one key and its attributes on each line. */
export interface KeySource {
  readonly apiKeys: readonly string[];
  readonly apiKeysFile: string | undefined;
}

/** A hundred bytes for each of 10,000 keys take a quarter of it. */
const MAX_FILE_BYTES = 4 * 1_048_576;

type Attributes = Omit<KeyEntry, 'digest' | 'label'>;

const PLAIN: Attributes = { name: null, access: 'write', expiresAt: null, expiresMs: null };

/** The parser of an attribute returns the rule if the text breaks it. */
const PARSERS: Readonly<Record<string, (text: string) => Partial<Attributes> | string>> = {
  name: (name) =>
    /^[\w.-]{1,64}$/.test(name)
      ? { name }
      : '1 to 64 letters, digits, dots, underscores and hyphens',
  access: (access) => (access === 'read' || access === 'write' ? { access } : 'read or write'),
  expires: parseExpiry,
};

/** Parses attributes in the form NAME=VALUE. Throws an Error with one rule, and quotes nothing. */
function parseAttributes(texts: readonly string[]): Attributes {
  const values = new Map<string, Partial<Attributes>>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
    const parse = Object.hasOwn(PARSERS, name) ? PARSERS[name] : undefined;
    if (!parse) {
      const names = Object.keys(PARSERS);
      const known = names.map((each) => `${each}=`).join(', ');
      throw new Error(`only ${known} may follow the key${suggestion(name, names)}`);
    }
    const parsed = parse(value);
    if (typeof parsed === 'string') throw new Error(`${name} takes ${parsed}`);
    if (values.has(name)) throw new Error(`${name} is given twice`);
    values.set(name, parsed);
  }
  return Object.assign({}, PLAIN, ...values.values());
}

function parseExpiry(text: string): Partial<Attributes> | string {
  const isDay = !/t/i.test(text);
  const shownMs = parseTime(isDay ? `${text}T23:59:59Z` : text)?.floor;
  if (shownMs === undefined)
    return 'a date such as 2027-03-01 or a time such as 2027-03-01T12:00:00Z';
  const expiresAt = new Date(shownMs).toISOString().replace(/\.\d+/, '');
  return { expiresMs: isDay ? shownMs + 1_000 : shownMs, expiresAt };
}

/** Resolves with the keys of a source; rejects if its file cannot be read or is wrong. */
export async function readKeys({ apiKeys, apiKeysFile: file }: KeySource): Promise<KeyEntry[]> {
  const plain = apiKeys.map((key) => entryOf(key, PLAIN));
  const listed = file === undefined ? [] : await readLines(file);
  // The line of a key counts, because it may have attributes.
  const entries = [...new Map([...plain, ...listed].map((each) => [each.digest, each])).values()];
  const labels = new Set(entries.map(({ label }) => label));
  if (labels.size < entries.length)
    throw new Error('a key of NOTES_API_KEYS has the name or the start of the hash of another key');
  return entries;
}

async function readLines(file: string): Promise<KeyEntry[]> {
  const text = await readText(file).catch((cause) => {
    throw new Error(`cannot read the keys in ${file}: ${cause.message}`, { cause });
  });
  const entries: KeyEntry[] = [];
  /** The lines of digests and labels; no label has the form of a digest. */
  const places = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const place = `line ${index + 1}`;
    if (/^\s*(?:#|$)/.test(line)) continue;
    try {
      const entry = parseLine(line.trim());
      const other = places.get(entry.digest) ?? places.get(entry.label);
      if (other !== undefined)
        throw new Error(`the key, its name or the start of its hash is already that of ${other}`);
      places.set(entry.digest, place).set(entry.label, place);
      entries.push(entry);
    } catch (error) {
      throw new Error(`${place} of ${file}: ${(error as Error).message}`);
    }
  }
  if (entries.length === 0) throw new Error(`${file} contains no key`);
  return entries;
}

/** Reads a regular file: a pipe has its keys only once, and no reload could read them again. */
async function readText(file: string): Promise<string> {
  // The open of a pipe would wait for a writer.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await handle.stat();
  if (!found.isFile()) throw new Error('it is not a regular file');
  if (found.size > MAX_FILE_BYTES) throw new Error('it is larger than 4 MiB');
  return await handle.readFile('utf8');
}

function parseLine(line: string): KeyEntry {
  const [key = '', ...texts] = line.split(/\s+/);
  if (!KEY.test(key)) throw new Error('a key is visible ASCII without commas, not in quotes');
  if (Object.keys(PARSERS).some((name) => key.startsWith(`${name}=`)))
    throw new Error('the key must come before its attributes');
  return entryOf(key, parseAttributes(texts));
}

function entryOf(key: string, attributes: Attributes): KeyEntry {
  const digest = hash('sha256', key, 'base64');
  // It must not depend on other keys: a reload would give the counts of one key to another.
  const label = attributes.name ?? Buffer.from(digest, 'base64').toString('hex', 0, 4);
  return { ...attributes, digest, label };
}

/** Returns a line with a random key and `attributes`. Throws an Error if one of them is wrong. */
export function newKeyLine(attributes: Readonly<Record<string, string>>): string {
  const texts = Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
  parseAttributes(texts);
  return [randomBytes(32).toString('hex'), ...texts].join(' ');
}

/** Whether users other than its owner, or for a root file its group, can read a file. */
export async function isReadByOthers(file: string): Promise<boolean> {
  const { mode = 0, uid = 0 } = (await stat(file).catch(() => undefined)) ?? {};
  // The ACL on a credential of systemd, a file of root, shows as rights of its group.
  return process.platform !== 'win32' && (mode & (uid === 0 ? 0o007 : 0o077)) !== 0;
}
