// Creates and removes the Unix socket of the service. Node would let the umask decide on access and
// remove a successor's socket, so it binds a hidden path, and a rename makes the socket public.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { chmodSync, existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { access, constants, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

/** Rejects in one line if a socket cannot be created at `path`, or a process listens on it. */
export async function checkSocketPath(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK | constants.X_OK);
  // An earlier process with our id may have been killed during its start.
  await rm(hiddenFolder(path), { recursive: true, force: true });
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() === false) throw new Error(`${path} exists and is not a socket`);
  if (found && (await hasListener(path))) throw new Error(`${path} is in use by another process`);
}

/** Makes the socket that `listen` binds public at `path`; all processes share it. */
export async function createSocket(path: string, listen: (hidden: string) => Promise<unknown>) {
  const folder = hiddenFolder(path);
  const hidden = join(folder, 's');
  await createPrivateFolder(folder);
  try {
    await listen(hidden);
    // Do not await from here on: the caller must be ready for the first request.
    chmodSync(hidden, 0o660);
    renameSync(hidden, path);
  } catch (error) {
    const isPublic = (error as NodeJS.ErrnoException).code === 'ENOENT' && existsSync(path);
    // Another process of the service may have made it public.
    if (!cluster.isWorker || !isPublic) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns a function that removes the socket at `path` unless another has taken its place. */
export function socketRemover(path: string): () => void {
  const created = lstatSync(path, { throwIfNoEntry: false })?.ino;
  return () => {
    try {
      if (lstatSync(path).ino === created) rmSync(path);
    } catch {
      // It is gone, or the next start replaces it.
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

/** Whether a process listens, even one that is busy (EAGAIN) or denies access (EACCES). */
async function hasListener(path: string): Promise<boolean> {
  const socket = connect(path);
  const [code] = await once(socket, 'connect').catch((error) => [error.code]);
  socket.destroy();
  return code !== 'ECONNREFUSED';
}
