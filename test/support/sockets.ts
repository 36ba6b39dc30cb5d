// Services that follow each other on a Unix socket.
import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startCommand, stop } from './command.ts';
import { type Ends, temporaryFolder } from './engine.ts';
import { request } from './http.ts';

/** Asserts that a stop of as many processes leaves the socket of those that took its place. */
export async function assertLeavesSuccessor(test: Ends, processes: number): Promise<void> {
  const folder = temporaryFolder(test);
  const socketPath = join(folder, 'notes.sock');
  const args = ['--socket', 'notes.sock', '--processes', String(processes)];
  const first = startCommand(test, args, { folder });
  await first.ready();
  rmSync(socketPath);
  const second = startCommand(test, args, { folder, coverage: true });
  await second.ready();
  assert.equal((await stop(first)).status, 0);
  assert.equal((await request('http://localhost', 'GET', '/notes', { socketPath })).status, 200);
  assert.equal((await stop(second)).status, 0);
  const left = readdirSync(folder).filter((name) => !name.startsWith('notes.db'));
  assert.deepEqual(left, []);
}
