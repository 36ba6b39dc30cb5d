// Writes files that are never seen half-written: each is written under another name in the same
// folder, synced to disk and then renamed.
import type { Stats } from 'node:fs';
import {
  type FileHandle,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseUnusable } from '../storage/database.ts';
import { reservedNames } from '../storage/sqlite/files.ts';

/** The mode of a private file, and masks for the bits of the owner and of everybody. */
const PRIVATE_MODE = 0o600;
const OWNERS_BITS = 0o700;
const ALL_BITS = 0o777;

/** Stands between the final name and the process id in the name of an unfinished file. */
const UNFINISHED = '.unfinished-';

/**
 * The database that the content comes from, and the file whose owner and mode are copied; without
 * one, the file is private.
 */
export interface Model {
  readonly source: string | undefined;
  readonly like: string | undefined;
}

/**
 * Creates the file `target`. `write` gets the open file and its path, and writes the whole content.
 * The file gets the owner and mode of `source`, the database that the content comes from, if any.
 * Rejects with {@link DatabaseUnusable}, and leaves nothing behind, if `target` exists, is a name
 * that SQLite reserves for `source`, or cannot be written, or if `write` rejects. Removes what runs
 * that were killed have left behind.
 */
export async function writeWhole(
  target: string,
  source: string | undefined,
  write: (file: FileHandle, path: string) => Promise<void>,
): Promise<void> {
  await refusePresent(target);
  await makeWhole(target, { source, like: source }, write, async (unfinished) => {
    await refusePresent(target);
    await rename(unfinished, target);
  });
}

/**
 * Like {@link writeWhole}, except that `target` may exist, and that `place` gives the finished file
 * its name.
 */
export async function makeWhole(
  target: string,
  { source, like }: Model,
  write: (file: FileHandle, path: string) => Promise<void>,
  place: (unfinished: string) => Promise<void>,
): Promise<void> {
  try {
    const folder = await realpath(dirname(target));
    const path = join(folder, basename(target));
    if (source !== undefined && reservedNames(source).includes(path)) {
      throw new Error(`SQLite keeps there what belongs to ${source}`);
    }
    await removeLeftovers(path, source);
    await writeAndPlace(`${path}${UNFINISHED}${process.pid}`, like, write, place);
    await syncFolder(folder);
  } catch (error) {
    throw new DatabaseUnusable(`cannot write ${target}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Removes the files of runs whose process has ended. Rejects, and removes nothing, if one of them
 * is `source`.
 */
async function removeLeftovers(path: string, source: string | undefined): Promise<void> {
  const prefix = `${basename(path)}${UNFINISHED}`;
  const names = (await readdir(dirname(path))).filter((name) => {
    const process = name.startsWith(prefix)
      ? /^(\d+)(?:-journal)?$/.exec(name.slice(prefix.length))?.[1]
      : undefined;
    return process !== undefined && isOver(Number(process));
  });
  const leftovers = names.map((name) => join(dirname(path), name));
  for (const left of leftovers) {
    if (source !== undefined && (await realpath(source)) === left) {
      throw new Error(`${source} has a name of what is made on the way: give it another`);
    }
  }
  for (const left of leftovers) await rm(left, { force: true });
}

/** Whether no other process has this id. */
function isOver(number: number): boolean {
  if (number === process.pid) return true;
  try {
    // Signal 0 only checks whether the process exists.
    process.kill(number, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function writeAndPlace(
  unfinished: string,
  like: string | undefined,
  write: (file: FileHandle, path: string) => Promise<void>,
  place: (unfinished: string) => Promise<void>,
): Promise<void> {
  const file = await open(unfinished, 'wx', PRIVATE_MODE);
  try {
    const model = like === undefined ? undefined : await stat(like);
    await write(file, unfinished);
    if (model) await allowAs(file, model);
    await file.sync();
    if (!(await isAt(file, unfinished)))
      throw new Error('somebody else writes to it at this moment');
    if ((await file.stat()).size === 0) throw new Error('nothing has been written to it');
    await place(unfinished);
  } catch (error) {
    if (await isAt(file, unfinished)) await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Whether there is anything at `path`, including a dangling link. */
export async function isPresent(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined;
}

async function refusePresent(path: string): Promise<void> {
  if (await isPresent(path)) throw new DatabaseUnusable(`${path} is there already`);
}

/** Grants nobody more access to the file than `model` does. */
async function allowAs(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const isOwned = await file.chown(uid, gid).then(
    () => true,
    () => false,
  );
  await file.chmod(mode & (isOwned ? ALL_BITS : OWNERS_BITS));
}

/** Whether `path` still refers to the file. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [ours, found] = await Promise.all([file.stat(), lstat(path).catch(absent)]);
  return found?.ino === ours.ino && found.dev === ours.dev;
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
