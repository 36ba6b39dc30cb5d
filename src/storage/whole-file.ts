// A file that is there is whole: it is made beside its place, under a name of its own, and takes its place once it is on disk.
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseUnusable } from './database.ts';
import { ownNamesOf } from './sqlite-place.ts';

/** What only its owner may read and write; and of any mode, what it says of its owner. */
const PRIVATE_MODE = 0o600;
const OWNERS_BITS = 0o700;
const ALL_BITS = 0o777;

/** What comes between the name of a file and the number of the process that makes it, in the name that it has till then. */
const UNFINISHED = '.unfinished-';

/** Where what is written comes from, and whose owner and mode it gets; the user alone may use it if it is like nothing. */
export interface Model {
  readonly source: string | undefined;
  readonly like: string | undefined;
}

/**
 * Makes the file `target`, of which `write` writes all: into the file it is handed, or by its path. It comes from the file
 * `source`, if from one, and may be used as that may. Rejects with {@link DatabaseUnusable}, and then leaves nothing behind: if
 * `target` is there already, or a name that SQLite keeps for what belongs to `source`, if it cannot be written, or as `write`
 * does. What a run left behind that was ended is taken away by the next.
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

/** Does what {@link writeWhole} does, but for what is there already: `place` gives the file that is on disk now its name. */
export async function makeWhole(
  target: string,
  { source, like }: Model,
  write: (file: FileHandle, path: string) => Promise<void>,
  place: (unfinished: string) => Promise<void>,
): Promise<void> {
  try {
    const folder = await realpath(dirname(target));
    const path = join(folder, basename(target));
    if (source !== undefined && ownNamesOf(source).includes(path)) {
      throw new Error(`SQLite keeps there what belongs to ${source}`);
    }
    await removeLeftovers(path, source);
    await writeAndPlace(`${path}${UNFINISHED}${process.pid}`, like, write, place);
    await syncFolder(folder);
  } catch (error) {
    throw new DatabaseUnusable(`cannot write ${target}: ${(error as Error).message}`, { cause: error });
  }
}

/** Takes away what runs left behind whose process is no more; rejects, and takes nothing away, if one of them is `source`. */
async function removeLeftovers(path: string, source: string | undefined): Promise<void> {
  const prefix = `${basename(path)}${UNFINISHED}`;
  const names = (await readdir(dirname(path))).filter((name) => {
    const process = name.startsWith(prefix) ? /^(\d+)(?:-journal)?$/.exec(name.slice(prefix.length))?.[1] : undefined;
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

/** Whether there is no other process of that number. */
function isOver(number: number): boolean {
  if (number === process.pid) return true;
  try {
    // Signal 0 is not sent: it is only found out whether it could be.
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
    if (!(await isAt(file, unfinished))) throw new Error('somebody else writes to it at this moment');
    if ((await file.stat()).size === 0) throw new Error('nothing has been written to it');
    await place(unfinished);
  } catch (error) {
    if (await isAt(file, unfinished)) await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Whether there is anything at `path`, be it a link that leads nowhere. */
export async function isPresent(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined;
}

async function refusePresent(path: string): Promise<void> {
  if (await isPresent(path)) throw new DatabaseUnusable(`${path} is there already`);
}

/** Lets nobody do with the file what they may not do with one of `model`. */
async function allowAs(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const isOwned = await file.chown(uid, gid).then(
    () => true,
    () => false,
  );
  await file.chmod(mode & (isOwned ? ALL_BITS : OWNERS_BITS));
}

/** Whether `path` still names the file. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [ours, found] = await Promise.all([file.stat(), lstat(path).catch(absent)]);
  return found?.ino === ours.ino && found.dev === ours.dev;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
