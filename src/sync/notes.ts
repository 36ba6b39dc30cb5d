// What a file is as a note: its name, its body, its title and its tags, or why it can be none.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { posix } from 'node:path';
import { countCharacters, sliceCharacters } from '../characters.ts';
import { MAX_BODY_LENGTH, MAX_NAME_LENGTH, MAX_TITLE_LENGTH } from '../contract/generated.js';
import { faultInName } from '../name.ts';

/** What chooses the notes: `prefix` is empty or ends with a slash; extensions have their dot. */
export interface Selection {
  readonly prefix: string;
  readonly extensions: ReadonlySet<string>;
}

/** The folder in the folder. */
export const META = '.notes-sync';

const FORBIDDEN_ON_WINDOWS = /[<>:"|?*]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Whether a path is kept in step: nothing hidden, and one of the extensions. */
export function isSynced(path: string, { extensions }: Selection): boolean {
  const isHidden = path.split('/').some((segment) => segment.startsWith('.'));
  return !isHidden && extensions.has(posix.extname(path).toLowerCase());
}

/** Returns why a path can be no name of a note, or of a file here. */
export function faultInPath(
  path: string,
  { prefix }: Selection,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  const fault = faultInEncoding(path);
  if (fault !== undefined) return fault;
  const [, detail] = faultInName(`${prefix}${path}`, MAX_NAME_LENGTH) ?? [];
  if (detail !== undefined) return `its name ${detail}`;
  const isForbidden = path.split('/').some((segment) => FORBIDDEN_ON_WINDOWS.test(segment));
  return platform === 'win32' && isForbidden ? 'Windows cannot have its name' : undefined;
}

/** Returns why a path is no text: bytes that are none are read as this character. */
export function faultInEncoding(path: string): string | undefined {
  return path.includes('\ufffd') ? 'its name is not UTF-8' : undefined;
}

/** The bytes of a name that its copies keep: with their suffix, they fit into a file name. */
const MAX_COPIED_BYTES = 190;

/** What the copies of a path begin with; a copy of a copy replaces the suffix. */
export function copyStart(path: string): string {
  const { dir, name } = posix.parse(path);
  const bytes = Buffer.from(name.replace(/ \(conflict [^()]*\)$/, ''));
  // A character may be cut.
  const start = bytes.toString('utf8', 0, MAX_COPIED_BYTES).replace(/\ufffd$/, '');
  return posix.join(dir, `${start} (conflict `);
}

/** Returns the path of a copy: its day, and as many digits of the hash of its text. */
export function copyPath(path: string, hash: string, digits: number): string {
  const day = new Date().toISOString().slice(0, 10);
  return `${copyStart(path)}${day} ${hash.slice(0, digits)})${posix.extname(path)}`;
}

/** No text with more bytes can be a note. */
export const MAX_BYTES = 4 * MAX_BODY_LENGTH;

/** A text, one of white space only, which the service refuses, or what can be no note. */
export type Content =
  | { readonly kind: 'new'; readonly hash: string; readonly text: string }
  | { readonly kind: 'blank' | 'bad'; readonly hash: string; readonly why: string };

/** What a text says of its note, or said before. */
export interface Described {
  readonly title?: string;
  readonly tags: readonly string[];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A first line `---`, a later one, and what is between them. */
const FRONT_MATTER = /^\ufeff?---((?:\r\n|[\r\n])(?:.*?[\r\n])?)---(?![^\r\n])/s;

const HEADING = /(?:^\ufeff?|[\r\n])#[ \t]([^\r\n]*\S[^\r\n]*)/;

/** Returns the hash by which texts are compared. */
export function hashOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest().toString('hex', 0, 16);
}

/** Returns what a file with these bytes is. */
export function contentOf(bytes: Buffer): Content {
  const hash = hashOf(bytes);
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    return { kind: 'bad', hash, why: 'it is not UTF-8' };
  }
  if (!/\S/.test(text)) return { kind: 'blank', hash, why: 'it is blank' };
  if (countCharacters(text) <= MAX_BODY_LENGTH) return { kind: 'new', hash, text };
  return { kind: 'bad', hash, why: `it has more than ${MAX_BODY_LENGTH} characters` };
}

/**
 * Returns the title in the front matter, else that of the first heading, and the tags. What a text
 * does not say, or says in front matter that cannot be read, is as before.
 */
export function describe(text: string, before: Partial<Described> = {}): Described {
  const [front = '', inside = ''] = FRONT_MATTER.exec(text) ?? [];
  const { title: named, tags } = membersOf(inside) ?? before;
  const heading = HEADING.exec(text.slice(front.length))?.[1];
  const title = [named, heading].filter(isText).map(titleIn).find(Boolean) ?? before.title;
  const names = Array.isArray(tags) ? tags.filter(isText).map((tag) => tag.trim()) : [];
  return { ...(title !== undefined && { title }), tags: [...new Set(names.filter(Boolean))] };
}

/** Returns the title of a note whose text has none. */
export function titleFor(path: string): string {
  return titleIn(posix.parse(path).name) || '-';
}

function titleIn(text: string): string {
  return sliceCharacters(text.replace(/\s+/g, ' ').trim(), 0, MAX_TITLE_LENGTH);
}

/** Returns undefined if it cannot be read, as while somebody writes it. */
function membersOf(front: string): Readonly<Record<string, unknown>> | undefined {
  if (!/^(?:title|tags):/m.test(front)) return {};
  // Few texts need it, and it takes as long to load as a run.
  const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    // All values are texts, such as 2026 and no. To compare all keys would take long.
    return Object(parse(front, { schema: 'failsafe', logLevel: 'error', uniqueKeys: false }));
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
