// How files are replaced and removed: what is taken away is checked where nobody else writes it,
// what is put somewhere replaces nothing, and what is not needed any more is kept for 30 days.
//
//   a new text --> tmp/ --link--> its path          a file --rename--> aside/ --> trash/
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { EFFECTS, SYNC_TIMES } from './effects.ts';
import { type Folder, isInside } from './folder.ts';
import { contentOf, copyPath, copyStart, hashOf, META } from './notes.ts';

const KEPT_MS = 30 * 86_400_000;

/** Ends the name of a file in `aside/` that was replaced: it stays away if its path gets free. */
const REPLACED = '-replaced';

/** The folders in `.notes-sync`; what else is there are files. */
const PLACES = ['tmp', 'aside', 'trash'];

/** Returns a path below `.notes-sync`. */
export function metaPath({ root }: Folder, ...names: readonly string[]): string {
  return posix.join(root, META, ...names);
}

/** Throws if `.notes-sync` holds a link, or what no run has made: it may have come from others. */
export function checkPlaces(folder: Folder): void {
  const check = (name: string) => {
    const found = lstatSync(metaPath(folder, name), { throwIfNoEntry: false });
    const isPlace = ['', ...PLACES].includes(name);
    if (!found || (isPlace ? found.isDirectory() : found.isFile())) return found;
    const kind = isPlace ? 'folder' : 'file';
    throw new Error(`nothing was done: ${metaPath(folder, name)} is no ${kind}, or a link`);
  };
  if (check('')) readdirSync(metaPath(folder)).forEach(check);
}

/** Makes the places that are missing. Only the owner of the folder may look into them. */
export function makePlaces(folder: Folder): void {
  checkPlaces(folder);
  mkdirSync(metaPath(folder), { recursive: true, mode: 0o700 });
  for (const place of PLACES) mkdirSync(metaPath(folder, place), { recursive: true });
  writeFileSync(metaPath(folder, '.gitignore'), '*\n');
}

/** Removes what is unfinished, or was kept long enough. */
export function clearPlaces(folder: Folder): void {
  const isOver = (name: string) => Number.parseInt(name, 10) < Date.now() - KEPT_MS;
  const trash = readdirSync(metaPath(folder, 'trash')).filter(isOver);
  for (const name of trash) rmSync(metaPath(folder, 'trash', name), { recursive: true });
  for (const name of readdirSync(metaPath(folder, 'tmp')))
    rmSync(metaPath(folder, 'tmp', name), { recursive: true });
}

/**
 * Clears what earlier runs took away. It comes back if a program went on to write it, if it was to
 * be moved, or if nothing took its place and the path is known with this hash. What was replaced or
 * deleted waits until no program may have it open any more.
 */
export function clearAside(folder: Folder, isKnown: (real: string, hash: string) => boolean): void {
  for (const name of readdirSync(metaPath(folder, 'aside'))) {
    const start = metaPath(folder, 'aside', name);
    const [expected = '', takenMs] = name.split('-');
    const isReplaced = name.endsWith(REPLACED);
    const isWaiting = expected !== '' && Number(takenMs) > Date.now() - SYNC_TIMES.aside;
    let isEmpty = true;
    if (!lstatSync(start).isDirectory()) {
      trash(folder, start);
      continue;
    }
    for (const entry of readdirSync(start, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) continue;
      const place = posix.join(entry.parentPath, entry.name);
      const real = posix.relative(start, place);
      const isTaken = isReplaced || existsSync(posix.join(folder.root, real));
      // Nobody has written it since then.
      const isOld = lstatSync(place).mtimeMs < Number(takenMs) - SYNC_TIMES.racy;
      const hash = isWaiting && isOld ? expected : hashAt(place);
      const isOver = hash === expected && (isTaken || !isKnown(real, hash));
      if (!isOver) bringBack(folder, place, real);
      else if (isWaiting) isEmpty = false;
      else trash(folder, place);
    }
    if (isEmpty) rmSync(start, { recursive: true });
    else if (!isReplaced) renameSync(start, `${start}${REPLACED}`);
  }
}

/** How a text takes its place. */
interface Put {
  /** The hash of the file that it replaces. */
  readonly expected?: string | undefined;
  /** Whether that file must have a copy. */
  readonly needsCopy?: boolean;
  /** The file whose mode the new one gets. */
  readonly like?: string;
}

/** Puts a text where nothing is, or in place of a file; resolves with whether it was possible. */
export async function putText(
  folder: Folder,
  real: string,
  text: string,
  { expected, needsCopy = false, like = real }: Put,
): Promise<boolean> {
  const fresh = metaPath(folder, 'tmp', randomUUID());
  const mode = modeOf(folder, like);
  try {
    // Several texts get on the disk at the same time.
    await writeFile(fresh, text, { flush: true, mode: mode ?? 0o666 });
    if (mode !== undefined) chmodSync(fresh, mode);
    const isFree =
      expected === undefined || takeAside(folder, real, expected, needsCopy) !== undefined;
    return isFree && place(folder, fresh, real);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Removes a file with the hash `expected`, and the folders that are empty then. */
export function removeFile(folder: Folder, real: string, expected: string): boolean {
  if (takeAside(folder, real, expected) === undefined) return false;
  prune(folder, real);
  return true;
}

/** Moves a file where nothing is. */
export function moveFile(folder: Folder, from: string, to: string): boolean {
  const aside = takeAside(folder, from);
  if (aside === undefined) return false;
  let isMoved = false;
  try {
    isMoved = place(folder, aside, to);
  } finally {
    if (!isMoved) bringBack(folder, aside, from);
  }
  if (isMoved) prune(folder, from);
  return isMoved;
}

/** Puts a text beside a path, unless it is there; returns its path, or undefined if it is taken. */
export async function putCopy(
  folder: Folder,
  real: string,
  text: string,
): Promise<string | undefined> {
  const [copy, isThere] = findCopy(folder, real, hashOf(text));
  return isThere || (await putText(folder, copy, text, { like: real })) ? copy : undefined;
}

/** Writes a new file, and waits until it is on the disk. */
export function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'w');
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Takes a file away until a later run, because a program may have it open and still write it.
 * Returns its place, or undefined if it is missing or not the expected text.
 */
function takeAside(
  folder: Folder,
  real: string,
  expected?: string,
  needsCopy = false,
): string | undefined {
  const id = `${Date.now()}-${randomUUID()}`;
  const marked = `${expected ?? ''}-${id}`;
  // Without the mark, it comes back if the run breaks off.
  const name = needsCopy ? `-${id}` : marked;
  const aside = metaPath(folder, 'aside', name, real);
  mkdirSync(posix.dirname(aside), { recursive: true });
  EFFECTS.before('aside', real);
  if (!isInside(folder, real)) return undefined;
  try {
    renameSync(posix.join(folder.root, real), aside);
  } catch (error) {
    if (Object(error).code === 'ENOENT') return undefined;
    throw error;
  }
  const isExpected = expected === undefined || hashAt(aside) === expected;
  if (isExpected && !needsCopy) return aside;
  // Somebody may have moved the copy back.
  if (!isExpected || !findCopy(folder, real, expected ?? '')[1]) {
    bringBack(folder, aside, real);
    return undefined;
  }
  renameSync(metaPath(folder, 'aside', name), metaPath(folder, 'aside', marked));
  return metaPath(folder, 'aside', marked, real);
}

/** Moves a file where nothing is; returns false if something is there. */
function place(folder: Folder, from: string, real: string): boolean {
  const target = posix.join(folder.root, real);
  if (!isInside(folder, real)) throw new Error('its folder is a link or a file');
  mkdirSync(posix.dirname(target), { recursive: true });
  EFFECTS.before('place', real);
  if (!linkOrCopy(from, target)) return false;
  EFFECTS.before('remove', from);
  unlinkSync(from);
  return true;
}

/** Gives a file a second path, or returns false if this is taken. Some systems have no links. */
export function linkOrCopy(from: string, target: string): boolean {
  try {
    linkSync(from, target);
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false;
    try {
      copyFileSync(from, target, constants.COPYFILE_EXCL);
    } catch (second) {
      if (Object(second).code === 'EEXIST') return false;
      throw second;
    }
  }
  return true;
}

function trash(folder: Folder, from: string): void {
  const name = `${Date.now()}-${randomUUID()}-${posix.basename(from).slice(-60)}`;
  EFFECTS.before('trash', from);
  renameSync(from, metaPath(folder, 'trash', name));
}

/** Puts a file where it was, or beside what is there; into the root if its folder is none now. */
function bringBack(folder: Folder, from: string, path: string): void {
  const real = isInside(folder, path) ? path : posix.basename(path);
  if (place(folder, from, real)) return;
  // A run that broke off may have left it at both paths.
  const isBack = lstatSync(posix.join(folder.root, real)).ino === lstatSync(from).ino;
  const { kind, hash } = contentOf(bytesAt(from));
  const [copy, isThere] = findCopy(folder, real, hash);
  if (kind === 'blank' || isBack || isThere || !place(folder, from, copy)) trash(folder, from);
}

/** Returns who may read and write a file, if there is one. */
function modeOf(folder: Folder, real: string): number | undefined {
  if (!isInside(folder, real)) return undefined;
  const found = lstatSync(posix.join(folder.root, real), { throwIfNoEntry: false });
  return found?.isFile() ? found.mode & 0o777 : undefined;
}

/** Returns why something failed, without paths: those of temporary files differ each time. */
export function reasonOf({ code, message, syscall }: NodeJS.ErrnoException): string {
  if (code === 'EXDEV') return 'it is on another file system';
  return message.replace(new RegExp(`, ${syscall} '.*`, 's'), '');
}

function prune({ root }: Folder, real: string): void {
  try {
    for (let each = posix.dirname(real); each !== '.'; each = posix.dirname(each))
      rmdirSync(posix.join(root, each));
  } catch {}
}

/** Returns the path of the copy with this text and true, or a free path. */
function findCopy({ root }: Folder, real: string, hash: string): [path: string, isThere: boolean] {
  const [start, folder] = [copyStart(real), posix.dirname(real)];
  const names = readdirSync(posix.join(root, folder)).map((name) => posix.join(folder, name));
  const copies = names.filter((path) => path.startsWith(start) && path !== real);
  const found = copies.find((path) => hashAt(posix.join(root, path)) === hash);
  if (found !== undefined) return [found, true];
  let digits = 6;
  while (names.includes(copyPath(real, hash, digits))) digits += 1;
  return [copyPath(real, hash, digits), false];
}

function hashAt(path: string): string {
  return hashOf(bytesAt(path));
}

/** Returns the bytes of a file; a link, a folder and the like have none. */
function bytesAt(path: string): Buffer {
  return lstatSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
}
