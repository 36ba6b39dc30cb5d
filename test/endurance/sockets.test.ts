// The service on a Unix socket when processes are killed, and when another takes its place.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertRefused, runCommand, startCommand, stop } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { assertLeavesSuccessor } from '../support/sockets.ts';
import { until } from '../support/until.ts';

const BASE = 'http://localhost';
const SOCKET = ['--socket', 'notes.sock'];

test('socket: that of a killed process is replaced, another is not', async (t) => {
  const folder = temporaryFolder(t);
  const socketPath = join(folder, 'notes.sock');
  const killed = startCommand(t, SOCKET, { folder });
  await killed.ready();
  await stop(killed, 'SIGKILL');
  assert.ok(existsSync(socketPath));
  const command = startCommand(t, SOCKET, { folder });
  await command.ready();
  const second = await runCommand(t, SOCKET, { folder });
  assertRefused(second, 1, /: notes\.sock is in use by another process$/m);
  assert.equal((await request(BASE, 'GET', '/notes', { socketPath })).status, 200);
  assert.equal((await stop(command)).status, 0);
});

test('socket: a stop of two processes leaves that of a successor', (t) =>
  assertLeavesSuccessor(t, 2));

test('socket: processes that all die are replaced behind it', async (t) => {
  const folder = temporaryFolder(t);
  const socketPath = join(folder, 'notes.sock');
  const first = startCommand(t, [...SOCKET, '--processes', '2'], { folder });
  await first.ready();
  const { pid } = first.process;
  const members = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const member of members) process.kill(Number(member), 'SIGKILL');
  const answers = () => request(BASE, 'GET', '/notes', { socketPath }).then(() => true);
  await until(() => answers().catch(() => false));
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  assert.equal((await stop(first)).status, 0);
});
