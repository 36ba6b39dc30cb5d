// Writes files so that nobody sees them half-written: each is written under a temporary name in the
// same folder, synced to disk and then renamed.
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
import { auxiliaryPaths } from '../storage/sqlite/files.ts';

const PRIVATE_MODE = 0o600;
const OWNER_BITS = 0o700;
const ALL_BITS = 0o777;

/** A temporary name is the final name, this, and the process id. */
const UNFINISHED = '.unfinished-';

/** Writes the whole content to an open file, which is at `path`. */
type WriteFile = (file: FileHandle, path: string) => Promise<void>;

interface WholeFileOptions {
  /** The database from which the content comes. */
  readonly source: string | undefined;
  /** The file whose owner and mode are copied. Without it, only the owner has access. */
  readonly like: string | undefined;
}

/**
 * Creates the file `target` with what `write` writes. `source` is the database from which the
 * content comes, if any; its owner and mode are copied as far as permitted. Rejects with
 * {@link DatabaseUnusable}, and leaves no temporary file, if `target` exists, is a name that SQLite
 * reserves for `source`, or cannot be written, or if `write` rejects. If only the sync of the
 * folder fails, the message says that `target` is complete. Removes the temporary files that killed
 * processes left for `target`.
 */
export async function writeWhole(
  target: string,
  source: string | undefined,
  write: WriteFile,
): Promise<void> {
  await refusePresent(target);
  await publishWhole(target, { source, like: source }, write, async (unfinished) => {
    await refusePresent(target);
    await rename(unfinished, target);
  });
}

/** Like {@link writeWhole}, but `target` may exist, and `publish` gives the file its final name. */
export async function publishWhole(
  target: string,
  { source, like }: WholeFileOptions,
  write: WriteFile,
  publish: (unfinished: string) => Promise<void>,
): Promise<void> {
  let folder: string;
  try {
    folder = await realpath(dirname(target));
    const path = join(folder, basename(target));
    if (source !== undefined && auxiliaryPaths(source).includes(path))
      throw new Error(`SQLite reserves this name for ${source}`);
    await removeLeftovers(path, source);
    await writeAndPublish(`${path}${UNFINISHED}${process.pid}`, like, write, publish);
  } catch (error) {
    throw cannotWrite(target, error);
  }
  await syncFolder(folder).catch((cause) => {
    const doubt = 'but may be lost if the machine crashes, because its folder cannot be synced';
    throw new DatabaseUnusable(`${target} is complete, ${doubt}: ${cause.message}`, { cause });
  });
}

function cannotWrite(target: string, error: unknown): DatabaseUnusable {
  return new DatabaseUnusable(`cannot write ${target}: ${reasonOf(error, target)}`, {
    cause: error,
  });
}

function reasonOf(error: unknown, target: string): string {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  const folder = dirname(target);
  if (code === 'ENOENT' && syscall === 'realpath') return `the folder ${folder} is missing`;
  if (code === 'ENOTDIR') return `${folder} is not a folder`;
  return code === 'EACCES' ? `permission denied in the folder ${folder}` : message;
}

/** Removes temporary files of ended processes, but not `source`. */
async function removeLeftovers(path: string, source: string | undefined): Promise<void> {
  const kept = source === undefined ? undefined : await realpath(source);
  const prefix = `${path}${UNFINISHED}`;
  for (const name of await readdir(dirname(path))) {
    const file = join(dirname(path), name);
    const [, pid] = /^(\d+)(?:-journal)?$/.exec(file.slice(prefix.length)) ?? [];
    const isLeft = file.startsWith(prefix) && pid !== undefined && hasEnded(Number(pid));
    if (isLeft && file !== kept) await rm(file, { force: true });
  }
}

/** Whether the writer of a file has ended. A file with our own id is from an earlier process. */
function hasEnded(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    // Signal 0 only checks whether the process exists.
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function writeAndPublish(
  unfinished: string,
  like: string | undefined,
  write: WriteFile,
  publish: (unfinished: string) => Promise<void>,
): Promise<void> {
  const file = await open(unfinished, 'wx', PRIVATE_MODE);
  try {
    const model = like === undefined ? undefined : await stat(like);
    await write(file, unfinished);
    if (model) await copyPermissions(file, model);
    await file.sync();
    if (!(await isAt(file, unfinished))) throw new Error('another process is writing it');
    if ((await file.stat()).size === 0) throw new Error('nothing was written to it');
    await publish(unfinished);
  } catch (error) {
    if (await isAt(file, unfinished)) await rm(unfinished, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Whether there is anything at `path`, including a dangling link. */
export async function isPresent(path: string): Promise<boolean> {
  return (await lstat(path).catch(ignoreMissing)) !== undefined;
}

async function refusePresent(path: string): Promise<void> {
  const isThere = await isPresent(path).catch((error) => {
    throw cannotWrite(path, error);
  });
  if (isThere) throw new DatabaseUnusable(`${path} already exists`);
}

/** Copies the owner and mode. If the owner cannot change, the group and others get no access. */
async function copyPermissions(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const isOwned = await file.chown(uid, gid).then(
    () => true,
    () => false,
  );
  await file.chmod(mode & (isOwned ? ALL_BITS : OWNER_BITS));
}

/** Whether the open file is still the one at `path`. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [ours, found] = await Promise.all([file.stat(), lstat(path).catch(ignoreMissing)]);
  return found?.ino === ours.ino && found.dev === ours.dev;
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
