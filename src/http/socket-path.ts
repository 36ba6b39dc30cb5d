// Frees the path of a Unix socket before the service listens there, because the socket of a killed
// process remains.
import { once } from 'node:events';
import { access, constants, lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/**
 * Removes a socket on which no process listens. Rejects with a one-line message if a process does,
 * if the path is not a socket, or if the folder is missing or cannot be written.
 */
export async function freeSocketPath(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`cannot create ${path}: ${reasonOf(error)} ${folder}`, { cause: error });
  }
  const file = await lstat(path).catch(() => undefined);
  if (!file) return;
  if (!file.isSocket()) throw new Error(`${path} exists and is not a socket`);
  if (await hasListener(path)) throw new Error(`${path} is in use by another process`);
  await unlink(path).catch((error) => {
    if (error.code !== 'ENOENT')
      throw new Error(`cannot replace ${path}: permission denied`, { cause: error });
  });
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR'
    ? 'there is no folder'
    : 'permission denied in the folder';
}

/** Whether a process listens, even one that is busy (EAGAIN) or denies access (EACCES). */
async function hasListener(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}
