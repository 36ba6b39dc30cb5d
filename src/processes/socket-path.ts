// Creates and removes the Unix socket of the service. Node would let the umask decide on access and
// remove a successor's socket, so it binds a hidden path, from which a link makes it public.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { chmodSync, linkSync, lstatSync, rmSync, type Stats } from 'node:fs';
import { access, constants, mkdir, rm, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

/** Removes a socket on which no process listens. Rejects in one line if it cannot be replaced. */
export async function freeSocketPath(path: string): Promise<void> {
  const folder = dirname(path);
  await access(folder, constants.W_OK | constants.X_OK).catch((cause) => {
    const isMissing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR';
    const reason = isMissing ? 'there is no folder' : 'permission denied in the folder';
    throw new Error(`cannot create ${path}: ${reason} ${folder}`, { cause });
  });
  // An earlier process with our id may have been killed during its start.
  await rm(hiddenFolder(path), { recursive: true, force: true });
  if (statsOf(path)?.isSocket() === false) throw new Error(`${path} exists and is not a socket`);
  if (!(await removeStale(path))) throw inUse(path);
}

/** Makes the socket that `listen` binds public at `path`; all processes share the first one. */
export async function createSocket(path: string, listen: (hidden: string) => Promise<unknown>) {
  const folder = hiddenFolder(path);
  const hidden = join(folder, 's');
  if (cluster.isWorker) await removeStale(path);
  await createPrivateFolder(folder);
  try {
    await listen(hidden);
    // Do not await from here on: the caller must be ready for the first request.
    chmodSync(hidden, 0o660);
    linkSync(hidden, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isShared = code === 'ENOENT' || statsOf(hidden)?.ino === statsOf(path)?.ino;
    if (cluster.isWorker && isShared && statsOf(path)) return;
    throw code === 'EEXIST' ? inUse(path) : error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns a function that removes the socket at `path` unless another has taken its place. */
export function socketRemover(path: string): () => void {
  const created = statsOf(path)?.ino;
  return () => {
    try {
      if (statsOf(path)?.ino === created) rmSync(path);
    } catch {
      // The next start replaces it.
    }
  };
}

/** All processes of a service name the same folder. */
function hiddenFolder(path: string): string {
  return join(dirname(path), `.${cluster.isWorker ? process.ppid : process.pid}`);
}

/** A sibling may have created the folder; anybody else's would give access to the socket. */
async function createPrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, 0o700).catch((error) => {
    const { uid, mode } = lstatSync(folder);
    if (error.code !== 'EEXIST' || uid !== process.getuid?.() || (mode & 0o077) !== 0) throw error;
  });
}

async function removeStale(path: string): Promise<boolean> {
  const found = statsOf(path);
  if (!found) return true;
  if (!found.isSocket() || (await hasListener(path))) return false;
  const now = statsOf(path);
  // A sibling may have replaced it; the new socket may have the inode of the old one.
  if (now?.ino !== found.ino || now.ctimeMs !== found.ctimeMs) return now === undefined;
  await unlink(path).catch((cause) => {
    throw new Error(`cannot replace ${path}: permission denied`, { cause });
  });
  return true;
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function inUse(path: string): Error {
  return new Error(`${path} is in use by another process`);
}

/** Whether a process listens, even one that is busy (EAGAIN) or denies access (EACCES). */
async function hasListener(path: string): Promise<boolean> {
  const socket = connect(path);
  const answer = once(socket, 'connect');
  const isUsed = await answer.then(
    () => true,
    ({ code }) => code !== 'ECONNREFUSED',
  );
  socket.destroy();
  return isUsed;
}
