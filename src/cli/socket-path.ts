// Prepares the path of the Unix socket of the service. Node creates the socket and removes it.
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { access, constants, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** Rejects in one line if a socket cannot be created at `path`, or a process listens on it. */
export async function prepareSocketPath(path: string): Promise<void> {
  await access(dirname(path), constants.W_OK | constants.X_OK);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() === false) throw new Error(`${path} exists and is not a socket`);
  if (found && (await hasListener(path))) throw new Error(`${path} is in use by another process`);
  // A killed process has left it.
  await rm(path, { force: true });
  // Until the socket has its mode, the umask decides who may connect: nobody else.
  process.umask(process.umask() | 0o002);
}

/** Whether a process listens, even one that is busy (EAGAIN) or denies access (EACCES). */
async function hasListener(path: string): Promise<boolean> {
  const socket = connect(path);
  const [code] = await once(socket, 'connect').catch((error) => [error.code]);
  socket.destroy();
  return code !== 'ECONNREFUSED';
}
