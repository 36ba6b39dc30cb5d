// The files of the folder: which there are, and what they hold. Links are not followed.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import {
  type Content,
  contentOf,
  faultInEncoding,
  faultInPath,
  isSynced,
  MAX_BYTES,
  type Selection,
} from './notes.ts';

/** A folder, whose root has no link in its path. */
export interface Folder extends Selection {
  readonly root: string;
}

/** A file; its `real` path may have another normalization form than the path of its note. */
export interface File {
  readonly real: string;
  /** Differs when the file has been written or replaced. */
  readonly stat: string;
  readonly mtimeMs: number;
  readonly size: number;
}

/** What is in a folder, but not in the folders in it. */
interface Listing {
  readonly folders: readonly string[];
  /** With the paths of their notes. */
  readonly files: readonly (readonly [path: string, file: File])[];
  /** What can be no note, and why. */
  readonly faults: readonly Fault[];
}

type Fault = readonly [real: string, why: string];

/** What is known of folders: `listings` has those that are as they were. */
export interface Watched {
  readonly listings: Map<string, Listing>;
  /** Called before a folder is read, so that no change is missed. */
  watch(folder: string): void;
}

export interface Scan {
  readonly files: ReadonlyMap<string, File>;
  /** Files that can be no notes, folders that cannot be read, and why. */
  readonly faults: readonly Fault[];
}

/** What is at a path; `at` is when it was read. */
export type Found =
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: string; readonly hash?: string }
  | (Content & { readonly stat: string; readonly at: number });

/** Returns all files. Throws if the folder itself cannot be read. */
export function scan(folder: Folder, watched: Watched): Scan {
  const files = new Map<string, File>();
  const faults: Fault[] = [];
  const folders = [''];
  for (const place of folders) {
    watched.watch(place);
    const listing = watched.listings.get(place) ?? list(folder, place);
    watched.listings.set(place, listing);
    folders.push(...listing.folders);
    faults.push(...listing.faults);
    for (const [path, file] of listing.files) {
      const twin = files.get(path);
      if (twin) faults.push([file.real, `it has the same name as ${twin.real}`]);
      else files.set(path, file);
    }
  }
  return { files, faults };
}

function list(folder: Folder, place: string): Listing {
  const folders: string[] = [];
  const files: [string, File][] = [];
  const faults: Fault[] = [];
  try {
    for (const entry of readdirSync(posix.join(folder.root, place), { withFileTypes: true })) {
      const real = posix.join(place, entry.name);
      const path = real.normalize();
      const isFolder = entry.isDirectory() && !entry.name.startsWith('.');
      if (!isFolder && !(entry.isFile() && isSynced(real, folder))) continue;
      const why = isFolder ? faultInEncoding(path) : faultInPath(path, folder);
      const file = isFolder || why ? undefined : fileAt(folder, real);
      if (why) faults.push([real, why]);
      else if (isFolder) folders.push(real);
      else if (file) files.push([path, file]);
    }
    return { folders, files, faults };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (place === '') throw error;
    // It has been removed since its folder was read.
    if (code === 'ENOENT') return { folders: [], files: [], faults: [] };
    return { folders: [], files: [], faults: [[place, unreadable(code)]] };
  }
}

function unreadable(code: string | undefined): string {
  return `it cannot be read: ${code}`;
}

/** Returns the regular file at a path. */
export function fileAt({ root }: Folder, real: string): File | undefined {
  const found = lookAtPath(posix.join(root, real));
  if (!found?.isFile()) return undefined;
  const { size, mtimeNs, ctimeNs, ino, mtimeMs } = found;
  const stat = [size, mtimeNs, ctimeNs, ino].join(' ');
  return { real, stat, mtimeMs: Number(mtimeMs), size: Number(size) };
}

function lookAtPath(path: string) {
  try {
    return lstatSync(path, { bigint: true });
  } catch (error) {
    if (/^ENO(?:ENT|TDIR)$/.test(Object(error).code)) return undefined;
    throw error;
  }
}

/** Returns the file with exactly this path, why there is something else, or undefined. */
export function findFile(folder: Folder, real: string): File | string | undefined {
  const place = posix.join(folder.root, real);
  try {
    if (!lookAtPath(place)) return undefined;
    // Some systems find a file by another spelling.
    if (!readdirSync(posix.dirname(place)).includes(posix.basename(real))) return undefined;
    const file = isInside(folder, real) ? fileAt(folder, real) : undefined;
    return file ?? 'it is no file, or behind a link';
  } catch (error) {
    return unreadable(Object(error).code);
  }
}

/** Whether no folder of a path is a link or a file. Folders may be missing. */
export function isInside({ root }: Folder, real: string): boolean {
  for (let each = posix.dirname(real); each !== '.'; each = posix.dirname(each))
    if (lookAtPath(posix.join(root, each))?.isDirectory() === false) return false;
  return true;
}

/** Reads a file, again if it is written meanwhile. */
export function readText(folder: Folder, real: string): Found {
  for (let tries = 0; tries < 5; tries += 1) {
    const before = fileAt(folder, real);
    if (!before) return { kind: 'none' };
    if (!isInside(folder, real)) return { kind: 'bad', why: 'it is behind a link' };
    if (before.size > MAX_BYTES) return { kind: 'bad', why: 'it is too long' };
    try {
      const content = contentOf(readFileSync(posix.join(folder.root, real)));
      const { stat } = fileAt(folder, real) ?? {};
      if (stat === before.stat) return { ...content, stat, at: Date.now() };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') return { kind: 'bad', why: unreadable(code) };
    }
  }
  return { kind: 'bad', why: 'it is being written' };
}
