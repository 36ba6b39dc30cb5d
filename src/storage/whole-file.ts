// A file that is there is whole: it is made beside its place, under a name of its own, and takes its place once it is on disk.
import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseUnusable } from './database.ts';
import { isLocked } from './sqlite.ts';

/** What only its owner may read and write; and of any mode, what it says of its owner. */
const PRIVATE_MODE = 0o600;
const OWNERS_BITS = 0o700;
const ALL_BITS = 0o777;

/**
 * Makes the file `target`, of which `write` writes all: into the file it is handed, or by its path. It may be used as the file
 * `like` may, or by its owner alone. Rejects with {@link DatabaseUnusable}, and then leaves nothing behind: if `target` is there
 * already, if it cannot be written, or as `write` does. What a run left behind that was ended is taken away by the next.
 */
export async function writeWhole(
  target: string,
  like: string | undefined,
  write: (file: FileHandle, path: string) => Promise<void>,
): Promise<void> {
  await refusePresent(target);
  await makeWhole(target, like, write, async (unfinished) => {
    await refusePresent(target);
    await rename(unfinished, target);
  });
}

/** Does what {@link writeWhole} does, but for what is there already: `place` gives the file that is on disk now its name. */
export async function makeWhole(
  target: string,
  like: string | undefined,
  write: (file: FileHandle, path: string) => Promise<void>,
  place: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = `${target}.unfinished`;
  try {
    if (await isLocked(unfinished)) throw new Error('another backup to it is under way');
    for (const left of [unfinished, `${unfinished}-journal`]) await rm(left, { force: true });
    const file = await open(unfinished, 'wx', PRIVATE_MODE);
    try {
      const model = like === undefined ? undefined : await stat(like);
      await write(file, unfinished);
      if (model) await allowAs(file, model);
      await file.sync();
      if (!(await isAt(file, unfinished))) throw new Error('somebody else writes to it at this moment');
      await place(unfinished);
      await syncFolder(dirname(target));
    } catch (error) {
      if (await isAt(file, unfinished)) await rm(unfinished, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new DatabaseUnusable(`cannot write ${target}: ${(error as Error).message}`, { cause: error });
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

/** Whether `path` still names the file: another run may have taken it for one that was left behind. */
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
