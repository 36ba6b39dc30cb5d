// Checks the path of a Unix socket before the service listens there. A socket outlives a process
// that was killed.
import { once } from 'node:events';
import { access, constants, lstat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/**
 * Makes room for a new socket: removes one on which nobody listens. Rejects with a one-line message
 * if somebody does, if another file is there, or if the folder cannot be written.
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

/** Whether a process accepts connections; also if it is too busy, or this user must not connect. */
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
