// Several processes on a Unix socket, when they are killed.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startCommand, stop } from '../support/command.ts';
import { temporaryFolder } from '../support/engine.ts';
import { request } from '../support/http.ts';
import { sendSignal } from '../support/processes.ts';
import { until } from '../support/until.ts';

test('socket: processes that all die are replaced behind it', async (t) => {
  const folder = temporaryFolder(t);
  const socketPath = join(folder, 'notes.sock');
  const first = startCommand(t, ['--socket', 'notes.sock', '--processes', '2'], { folder });
  await first.ready();
  const { pid } = first.process;
  const members = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const member of members) sendSignal(Number(member), 'SIGKILL');
  const answers = () =>
    request('http://localhost', 'GET', '/notes', { socketPath }).then(() => true);
  await until(() => answers().catch(() => false));
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
  assert.equal((await stop(first)).status, 0);
});
