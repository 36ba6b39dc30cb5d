// Writes files whole: under a temporary name in the same folder, synced to disk, then renamed.
import { randomBytes } from 'node:crypto';
import { rmSync, type Stats } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseDamaged, DatabaseUnusable } from '../storage/database.ts';
import { auxiliaryPaths, isPresent } from '../storage/sqlite/paths.ts';

export interface WholeFile {
  /** The database that is copied; a new file gets its owner and mode, if that is permitted. */
  readonly source?: string | undefined;
  readonly write: (path: string, file: FileHandle) => Promise<void>;
  /** Gives the file its final name, which must be free unless this function is given. */
  readonly publish?: (unfinished: string, path: string) => Promise<void>;
}

const unfinishedPaths = new Set<string>();

/** Notes a path to remove if the process ends before the result is disposed of. */
export function noteUnfinished(path: string): Disposable {
  unfinishedPaths.add(path);
  return { [Symbol.dispose]: () => void unfinishedPaths.delete(path) };
}

/** Removes all that is unfinished, because the process ends. Never throws. */
export function removeUnfinished(): void {
  for (const path of [...unfinishedPaths].flatMap((each) => [each, ...auxiliaryPaths(each)])) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {}
  }
}

/** Writes the file `target`. Rejects with {@link DatabaseUnusable}; leaves no temporary file. */
export async function writeWhole(target: string, whole: WholeFile): Promise<void> {
  try {
    if (!whole.publish) refusePresent(target);
    const path = await realpath(dirname(target));
    await using folder = await open(path);
    const file = join(path, basename(target));
    if (whole.source !== undefined && auxiliaryPaths(whole.source).includes(file))
      throw new Error(`SQLite reserves this name for ${whole.source}`);
    await writeAndPublish(file, whole);
    await folder.sync().catch((cause) => {
      throw new Error(`it is complete, but a crash may remove it: ${cause.message}`, { cause });
    });
  } catch (error) {
    const isDamaged = error instanceof DatabaseDamaged;
    const reason = isDamaged ? 'the source is damaged' : (error as Error).message;
    throw new DatabaseUnusable(`cannot write ${target}: ${reason}`, { cause: error });
  }
}

async function writeAndPublish(path: string, whole: WholeFile): Promise<void> {
  const { source, write, publish = publishNew } = whole;
  const unfinished = `${path}.unfinished-${randomBytes(4).toString('hex')}`;
  using _noted = noteUnfinished(unfinished);
  await using file = await open(unfinished, 'wx', 0o600);
  try {
    const model = await stat(path).catch(() => (source === undefined ? undefined : stat(source)));
    await write(unfinished, file);
    if (model) await copyPermissions(file, model);
    await file.sync();
    await publish(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function publishNew(unfinished: string, target: string): Promise<void> {
  refusePresent(target);
  await rename(unfinished, target);
}

function refusePresent(path: string): void {
  if (isPresent(path)) throw new Error('it already exists');
}

/** If the owner cannot change, the group and others get no access. */
async function copyPermissions(file: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const bits = await file.chown(uid, gid).then(
    () => 0o777,
    () => 0o700,
  );
  await file.chmod(mode & bits);
}
